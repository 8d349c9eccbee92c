/**
 * What a flow says of itself in the target's commits: which of its attempts at the state live, how far its source was read, and what its
 * state was made with. It lives in a metadata domain of the target, which never expires and comes with the rows in one commit, so the
 * target's log alone decides. Live: `attempt <= last`, and not dead.
 */
import { parseJson, printJson } from '../base/json-exact.ts'
import type { Json } from '../base/json.ts'
import { failure } from '../base/errors.ts'
import type { Snapshot } from '../log/snapshot.ts'
import type { DomainMetadata } from '../protocol/actions.ts'

export const domainPrefix = 'braidlake.cdc.'

/** An inclusive range of attempt numbers. */
export type AttemptRange = readonly [from: number, to: number]

export interface Pin {
  readonly flow: string
  /** The greatest attempt that lives; 0: none yet. */
  readonly last: number
  /** Ascending and apart; all at most `last`. */
  readonly dead: readonly AttemptRange[]
  /** Of the source, as it gave it; undefined: nothing read yet. */
  readonly offset: string | undefined
  /** No event below it is applied; as text of sequences. */
  readonly watermark: string | undefined
  /** Sequences of truncates, ascending; as text of sequences. */
  readonly truncates: readonly string[]
  readonly definition: PinnedDefinition
  /** The state table: its id, and its path from the target's. */
  readonly state: { readonly id: string; readonly path: string }
}

/** What stored state means nothing without. */
export interface PinnedDefinition {
  readonly scdType: 1 | 2
  /** Names with types, in no order. */
  readonly keys: Readonly<Record<string, string>>
  readonly sequenceType: string
  /** Sorted names; empty for type 1. */
  readonly tracked: readonly string[]
  readonly metadataColumn: string
  readonly intervalColumns: readonly [string, string] | undefined
  /** Bitemporal targets alone: type and columns of the system sequence. */
  readonly systemType?: string | undefined
  readonly systemColumns?: readonly [string, string] | undefined
}

export function domainOf(flow: string): string {
  return `${domainPrefix}${flow}`
}

export function printPin(pin: Pin): DomainMetadata {
  const { flow, ...content } = pin
  return {
    domain: domainOf(flow),
    configuration: printJson({ format: 1, ...content } as unknown as Json),
    removed: false,
  }
}

/** @throws AUTOCDC_INVALID_STATE where the text is none of ours */
export function parsePin({ domain, configuration }: DomainMetadata): Pin {
  const flow = domain.slice(domainPrefix.length)
  try {
    const json = parseJson(configuration) as unknown as Omit<Pin, 'flow'> & { readonly format: number }
    if (json.format !== 1 || typeof json.last !== 'number' || !Array.isArray(json.dead)) throw new TypeError('format')
    const { format: _, ...content } = json
    return { ...content, flow }
  } catch (cause) {
    throw failure('AUTOCDC_INVALID_STATE', `the pin of flow ${flow} cannot be read`, {
      cause,
      details: { reason: 'PIN_MALFORMED', flow, configuration },
      advice: 'It was written by a newer version of this package, or changed by hand.',
    })
  }
}

/** Whether flows keep the table. */
export function isCdcTarget(snapshot: Snapshot): boolean {
  for (const domain of snapshot.domains.keys()) if (domain.startsWith(domainPrefix)) return true
  return false
}

/** The pins of all flows of a target, by flow. */
export function pinsOf(snapshot: Snapshot): ReadonlyMap<string, Pin> {
  const pins = new Map<string, Pin>()
  for (const [domain, action] of snapshot.domains) {
    if (domain.startsWith(domainPrefix)) pins.set(domain.slice(domainPrefix.length), parsePin(action))
  }
  return pins
}

export function isLive(pin: Pin, attempt: number): boolean {
  return attempt <= pin.last && !pin.dead.some(([from, to]) => from <= attempt && attempt <= to)
}

/** The pin after a commit in which just these new attempts live: what lies between them and the old last is dead. */
export function withAttempts(pin: Pin, attempts: readonly number[]): Pin {
  const living = [...attempts].sort((a, b) => a - b)
  const dead: AttemptRange[] = [...pin.dead]
  let { last } = pin
  for (const attempt of living) {
    if (attempt > last + 1) dead.push([last + 1, attempt - 1])
    last = Math.max(last, attempt)
  }
  return { ...pin, last, dead: merged(dead) }
}

/** All attempts up to one of them dead, and these alive besides the later ones that are. */
export function withDeadUpTo(pin: Pin, last: number, attempts: readonly number[]): Pin {
  return withAttempts({ ...pin, dead: last > 0 ? merged([...pin.dead, [1, last]]) : pin.dead }, attempts)
}

function merged(ranges: readonly AttemptRange[]): AttemptRange[] {
  const result: [number, number][] = []
  for (const [from, to] of [...ranges].sort((a, b) => a[0] - b[0])) {
    const before = result.at(-1)
    if (before !== undefined && from <= before[1] + 1) before[1] = Math.max(before[1], to)
    else result.push([from, to])
  }
  return result
}

/** Attempts that live in `after` and did not in `before`, as ranges; `before` undefined: none did. */
export function newlyLive(before: Pin | undefined, after: Pin): AttemptRange[] {
  const from = (before?.last ?? 0) + 1
  const ranges: AttemptRange[] = []
  let next = from
  for (const [deadFrom, deadTo] of after.dead) {
    if (deadTo < from) continue
    if (deadFrom > next) ranges.push([next, deadFrom - 1])
    next = Math.max(next, deadTo + 1)
  }
  if (next <= after.last) ranges.push([next, after.last])
  return ranges
}

/** Whether an attempt that lived in `before` is dead in `after`. */
export function someDied(before: Pin, after: Pin | undefined): boolean {
  if (after === undefined) return before.last > 0
  return after.dead.some(([from, to]) => {
    for (let attempt = from; attempt <= Math.min(to, before.last); attempt++) if (isLive(before, attempt)) return true
    return false
  })
}

/** Whether attempts have come to live since. */
export function broughtAttempts(before: ReadonlyMap<string, Pin>, after: ReadonlyMap<string, Pin>): boolean {
  return [...after.values()].some((pin) => newlyLive(before.get(pin.flow), pin).length > 0)
}
