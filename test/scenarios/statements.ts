/** Statements as scenarios write them. */
import type { MergeInputSource } from '../../src/table/sources.ts'
import type { MergeBuilder } from '../../src/table/merge-builder.ts'
import type { Row, Statement } from './race.ts'

export const del =
  (where?: string): Statement =>
  (target, options) =>
    target.delete(where, options)

export const update =
  (set: Readonly<Record<string, string>>, where?: string): Statement =>
  (target, options) =>
    target.update(set, where === undefined ? options : { ...options, where })

export const append =
  (...rows: readonly Row[]): Statement =>
  (target, options) =>
    target.append(rows, options)

export const insertSelect =
  (select: string): Statement =>
  (target, options) =>
    target.append({ select }, options)

export type Clauses = (merge: MergeBuilder<unknown>) => MergeBuilder<unknown>

export const merge =
  (source: MergeInputSource, clauses: Clauses, on = 't.id = s.id'): Statement =>
  (target, options) =>
    clauses(target.merge(source, { on })).execute(options)

export const upsert: Clauses = (m) => m.whenMatched().updateAll().whenNotMatched().insertAll()
export const insertOnly: Clauses = (m) => m.whenNotMatched().insertAll()
export const matchedDelete: Clauses = (m) => m.whenMatched().delete()

/** Rows {id, v} for the ids from `first` up to and including `last`. */
export function ids(first: number, last: number, v: unknown = 0): Row[] {
  return Array.from({ length: last - first + 1 }, (_, i) => ({ id: first + i, v }))
}

export const row = (id: number, v: unknown): Row => ({ id, v })
