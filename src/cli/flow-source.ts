/** The source that a flow file names by its kind. Clients of Kafka and Postgres are loaded only where they are named. */
import { resolve } from 'node:path'
import { failure } from '../base/errors.ts'
import type { EventSource } from '../relation/event-source.ts'
import {
  type Check,
  type Members,
  checkMembers,
  count,
  flag,
  isMembers,
  oneOf,
  text,
  textOrTexts,
  texts,
} from '../base/member-checks.ts'
import type { FlowFile } from './flow-file.ts'

const debeziumCheck: Check = (value) =>
  flag(value) || (isMembers(value) && Object.keys(value).every((name) => name === 'unavailableValue'))

const common = { debezium: debeziumCheck }

const kinds: Readonly<Record<string, Readonly<Record<string, Check>>>> = {
  files: { files: text, format: oneOf('json', 'parquet'), pollMs: count, settleMs: count, ...common },
  kafka: { kafka: isMembers, ...common },
  postgres: { postgres: isMembers },
  delta: { delta: text, startingVersion: count, allowImplied: flag, where: text, pollMs: count, ...common },
}

const kafkaChecks: Readonly<Record<string, Check>> = {
  brokers: textOrTexts,
  topic: textOrTexts,
  groupId: text,
  decode: (value) => value === 'json' || typeof value === 'function',
  from: oneOf('earliest', 'latest'),
  client: isMembers,
}

const postgresChecks: Readonly<Record<string, Check>> = {
  connection: (value) => text(value) || isMembers(value),
  slot: text,
  publication: text,
  tables: texts,
  createSlot: flag,
  snapshot: flag,
  keys: (value) => isMembers(value) && Object.values(value).every(texts),
}

/** @throws AUTOCDC_INVALID_DEFINITION */
export async function sourceOf({ source, folder, options }: FlowFile): Promise<EventSource> {
  if (isSource(source)) return source
  const kind = Object.keys(kinds).find((name) => source[name] !== undefined)
  if (kind === undefined)
    throw wrong(
      `it has ${Object.keys(source).join(', ') || 'no member'}, and must have one of ${Object.keys(kinds).join(', ')}`,
      'source',
    )
  const allowed = kinds[kind] ?? {}
  checkMembers(source, allowed, [kind], (problem, member) => wrong(problem, member, membersText(kind, allowed)))
  const events = await eventsOf(kind, source, folder, options.keys)
  const { debezium: wraps } = source
  if (wraps === undefined || wraps === false) return events
  const { debezium } = await import('../compose.ts')
  return debezium(events, isMembers(wraps) ? wraps : {})
}

function isSource(source: FlowFile['source']): source is EventSource {
  return 'read' in source && typeof source['read'] === 'function'
}

async function eventsOf(kind: string, source: Members, folder: string, keys: readonly string[]): Promise<EventSource> {
  const compose = await import('../compose.ts')
  switch (kind) {
    case 'files': {
      const { files, debezium: _, ...others } = source
      return compose.fileSource({ ...others, path: resolve(folder, String(files)) })
    }
    case 'kafka': {
      const options = members(source, 'kafka', kafkaChecks, ['brokers', 'topic'])
      const { kafkaSource } = await import('../kafka.ts')
      return kafkaSource(options as unknown as Parameters<typeof kafkaSource>[0])
    }
    case 'postgres': {
      const options = members(source, 'postgres', postgresChecks, ['connection', 'slot', 'publication'])
      const { postgresSource } = await import('../postgres.ts')
      return postgresSource(options as unknown as Parameters<typeof postgresSource>[0])
    }
    default: {
      const { delta, debezium: _, ...others } = source
      const { changeFeedSource } = await import('../table/change-feed-source.ts')
      const table = await compose.DeltaTable.open(resolve(folder, String(delta)))
      return changeFeedSource(table, { keys, ...others })
    }
  }
}

function members(
  source: Members,
  kind: string,
  checks: Readonly<Record<string, Check>>,
  needed: readonly string[],
): Members {
  const given = source[kind]
  if (!isMembers(given)) throw wrong(`${kind} must be an object`, kind)
  const advice = membersText(kind, checks)
  checkMembers(given, checks, needed, (problem, member) => wrong(`in ${kind}, ${problem}`, member, advice))
  return given
}

const membersText = (kind: string, checks: Readonly<Record<string, Check>>): string =>
  `A source of ${kind} has ${Object.keys(checks).join(', ')}.`

function wrong(problem: string, option: string, advice = 'Correct the source in the flow.'): Error {
  return failure('AUTOCDC_INVALID_DEFINITION', `the source of the flow cannot be used: ${problem}`, {
    details: { option: `source.${option}` },
    advice,
  })
}
