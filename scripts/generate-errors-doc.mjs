// Writes docs/errors.md from the table in src/base/errors.ts; with --check it only says whether the page is current.
import { readFileSync, writeFileSync } from 'node:fs'
import ts from 'typescript'

/** A module and the modules beside it that it imports, as one URL. */
function moduleUrl(name) {
  const source = readFileSync(new URL(`../src/base/${name}`, import.meta.url), 'utf8')
  const { outputText } = ts.transpileModule(source, {
    compilerOptions: { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2022 },
  })
  const whole = outputText.replaceAll(/from '\.\/([\w-]+\.ts)'/g, (_, other) => `from '${moduleUrl(other)}'`)
  return `data:text/javascript;base64,${Buffer.from(whole).toString('base64')}`
}

const { errorClasses } = await import(moduleUrl('errors.ts'))

const kinds = {
  invalid: 'the statement, an option or the data is at fault',
  conflict: 'another commit changed what this one depends on',
  unknown: 'the commit may have landed',
  unsupported: 'the table or the statement needs something this engine lacks',
  corrupt: 'the table breaks the protocol',
  unavailable: 'storage or the engine could not answer',
  cancelled: 'the caller cancelled',
  internal: 'a defect of this engine',
}
const retries = { never: 'no', rerun: 'run the statement again', resend: 'the same call again' }

const lines = [
  '# Errors',
  '',
  'Every failure is a `BraidlakeError` with a stable `code`, a `kind`, `retry`, `details` as data, and `advice`. Messages are for people and may',
  'change; codes do not. This page is made from the source by `npm run docs:errors`.',
  '',
]
for (const [kind, meaning] of Object.entries(kinds)) {
  const codes = Object.entries(errorClasses).filter(([, entry]) => entry.kind === kind)
  lines.push(`## ${kind}: ${meaning}`, '', '| code | cause | cure | worth a retry |', '| --- | --- | --- | --- |')
  for (const [code, { cause, cure, retry }] of codes)
    lines.push(`| \`${code}\` | ${cause} | ${cure} | ${retries[retry]} |`)
  lines.push('')
}
const text = `${lines.join('\n').trimEnd()}\n`
const page = new URL('../docs/errors.md', import.meta.url)
const current = (() => {
  try {
    return readFileSync(page, 'utf8')
  } catch {
    return ''
  }
})()
if (process.argv.includes('--check')) {
  if (current !== text) {
    console.error('docs/errors.md is not what src/base/errors.ts says; run npm run docs:errors')
    process.exit(1)
  }
} else writeFileSync(page, text)
