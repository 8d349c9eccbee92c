/** Code in documents and where it comes from. */
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const project = fileURLToPath(new URL('../../', import.meta.url))

export function documents(): string[] {
  const docs = readdirSync(join(project, 'docs'), { recursive: true, encoding: 'utf8' }).filter((file) =>
    file.endsWith('.md'),
  )
  return ['README.md', ...docs.map((file) => `docs/${file}`).sort()]
}

export function text(file: string): string {
  return readFileSync(join(project, file), 'utf8')
}

export interface Block {
  readonly document: string
  /** `examples/quickstart.mjs#create`, or a whole file */
  readonly source: string
  readonly code: string
}

/** Code blocks that name an example, or a part of one, in a comment before them. */
export function blocks(document: string): Block[] {
  const found = text(document).matchAll(/<!-- (examples\/\S+) -->\n+```(?:js|yaml)\n([\s\S]*?)```/g)
  return [...found].map(([, source = '', code = '']) => ({ document, source, code }))
}

/** The lines of a region of an example, or all of it. */
export function region(source: string): string {
  const [file = '', name] = source.split('#')
  if (name === undefined) return text(file)
  const found = new RegExp(`^// #region ${name}\\n([\\s\\S]*?)^// #endregion`, 'm').exec(text(file))
  if (found?.[1] === undefined) throw new Error(`${file} has no region ${name}`)
  return found[1]
}
