/**
 * A flow from a file: what `autoCdc` takes, with the source by its kind. TypeScript and JavaScript files export it as default or as
 * `flow`; YAML and JSON files hold it. Relative paths are taken from the file's folder, so that a flow runs the same from anywhere.
 */
import { readFile } from 'node:fs/promises'
import { dirname, extname, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { BraidlakeError, failure } from '../base/errors.ts'
import type { FlowOptions } from '../cdc/options.ts'
import type { EventSource } from '../relation/event-source.ts'
import { flowChecks, suggestion } from '../table/flow-options.ts'
import { checkMembers, isMembers } from '../base/member-checks.ts'

export interface FlowFile {
  /** Absolute. */
  readonly target: string
  readonly options: FlowOptions
  readonly properties: Readonly<Record<string, string>> | undefined
  /** As the file says it, or one that a module made. */
  readonly source: EventSource | Readonly<Record<string, unknown>>
  /** Folder of the file, from which its paths are taken. */
  readonly folder: string
}

/** @throws AUTOCDC_INVALID_DEFINITION */
export async function readFlowFile(path: string): Promise<FlowFile> {
  const file = resolve(path)
  const content = await contentOf(file)
  if (!isMembers(content)) throw wrong(file, 'it must hold an object with the members of a flow', 'flow')
  const folder = dirname(file)
  checkMembers(content, flowChecks, ['target', 'flow', 'keys', 'sequenceBy', 'source'], (problem, member) =>
    wrong(file, problem, member, suggestion(member)),
  )
  const { target, source, properties, ...options } = content
  return {
    target: resolve(folder, String(target)),
    options: options as unknown as FlowOptions,
    properties: properties as FlowFile['properties'],
    source: source as FlowFile['source'],
    folder,
  }
}

function wrong(file: string, problem: string, option: string, hint = '', cause?: unknown): BraidlakeError {
  return failure('AUTOCDC_INVALID_DEFINITION', `the flow of ${file} cannot be used: ${problem}.${hint}`, {
    details: { file, option },
    advice: `A flow has ${Object.keys(flowChecks).join(', ')}.`,
    cause,
  })
}

async function contentOf(file: string): Promise<unknown> {
  switch (extname(file).toLowerCase()) {
    case '.yaml':
    case '.yml': {
      const { parse } = await import('yaml')
      return parsed(file, (source) => parse(source, { schema: 'core', uniqueKeys: true }))
    }
    case '.json':
      return parsed(file, (source) => JSON.parse(source))
    case '.ts':
    case '.mts':
    case '.js':
    case '.mjs':
    case '.cjs':
      return exported(file)
    default:
      throw wrong(file, 'a flow file is named .ts, .mts, .js, .mjs, .cjs, .yaml, .yml or .json', 'file')
  }
}

function unreadable(file: string, cause: unknown): BraidlakeError {
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : ''
  const why = code === 'ENOENT' ? 'it is not there' : code === 'EISDIR' ? 'it is a folder' : code
  return failure('AUTOCDC_INVALID_DEFINITION', `the flow file ${file} cannot be read: ${why}`, {
    details: { file, option: 'file' },
    advice: 'Name a file that holds a flow: .yaml, .json, .ts, .mjs or another module.',
    cause,
  })
}

async function parsed(file: string, parse: (source: string) => unknown): Promise<unknown> {
  let source
  try {
    source = await readFile(file, 'utf8')
  } catch (cause) {
    throw unreadable(file, cause)
  }
  try {
    return parse(source)
  } catch (cause) {
    throw wrong(
      file,
      cause instanceof Error ? cause.message.trim().replace(/\.$/, '') : 'it cannot be parsed',
      'file',
      '',
      cause,
    )
  }
}

async function exported(file: string): Promise<unknown> {
  let module: Readonly<Record<string, unknown>>
  try {
    module = await import(pathToFileURL(file).href)
  } catch (cause) {
    if (cause instanceof BraidlakeError) throw cause
    throw wrong(file, importProblem(file, cause), 'file', '', cause)
  }
  const given = module['default'] ?? module['flow']
  if (given !== undefined) return given
  throw wrong(file, 'it must export the flow, as default or under the name flow', 'flow')
}

function importProblem(file: string, cause: unknown): string {
  const code = cause instanceof Error && 'code' in cause ? cause.code : undefined
  if (/\.m?ts$/.test(file) && code === 'ERR_UNKNOWN_FILE_EXTENSION') {
    return `Node ${process.versions.node} does not import TypeScript; use Node 22.18 or later, compile the file, or write it as .mjs or .yaml`
  }
  return `importing it failed: ${cause instanceof Error ? cause.message : String(cause)}`
}
