/**
 * Step 1 of reconcile: what the winners did to protocol, metadata and application transactions. Equal values pass; anything else is a
 * conflict, because the statement was planned under the old ones.
 */
import { printJson } from '../base/json-exact.ts'
import type { Json } from '../base/json.ts'
import type { Commit } from '../log/table-log.ts'
import type { Metadata, Protocol, SetTransaction } from '../protocol/actions.ts'
import type { Winner } from './net-change.ts'
import { winnerOf } from './net-change.ts'

export interface TableTerms {
  readonly protocol: Protocol
  readonly metadata: Metadata
}

export type TermsOutcome =
  | { readonly kind: 'same' }
  | { readonly kind: 'changed'; readonly what: 'protocol' | 'metadata' | 'domain'; readonly winner: Winner }
  | { readonly kind: 'already-applied'; readonly version: number }

/** @param application ours, or undefined where the statement carries none */
export function judgeTerms(
  planned: TableTerms,
  commits: readonly Commit[],
  application: SetTransaction | undefined,
  domains: ReadonlySet<string>,
): TermsOutcome {
  for (const commit of commits) {
    for (const action of commit.actions) {
      const changed = (what: 'protocol' | 'metadata' | 'domain'): TermsOutcome => ({
        kind: 'changed',
        what,
        winner: winnerOf(commit),
      })
      if (action.kind === 'txn' && application !== undefined && repeats(action.txn, application)) {
        return { kind: 'already-applied', version: commit.version }
      }
      if (action.kind === 'protocol' && !sameValue(action.protocol, planned.protocol)) return changed('protocol')
      if (action.kind === 'metaData' && !sameValue(action.metaData, planned.metadata)) return changed('metadata')
      if (action.kind === 'domainMetadata' && domains.has(action.domainMetadata.domain)) return changed('domain')
    }
  }
  return { kind: 'same' }
}

function repeats(theirs: SetTransaction, ours: SetTransaction): boolean {
  return theirs.appId === ours.appId && theirs.version >= ours.version
}

/** Equal as JSON values: key order means nothing, an absent key and an undefined one are the same. */
export function sameValue(a: unknown, b: unknown): boolean {
  return canonical(a) === canonical(b)
}

function canonical(value: unknown): string {
  return printJson(sorted(value))
}

function sorted(value: unknown): Json {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value === 'object' && value !== null) {
    const entries = Object.entries(value).filter(([, inner]) => inner !== undefined)
    return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)).map(([key, inner]) => [key, sorted(inner)]))
  }
  return value as Json
}
