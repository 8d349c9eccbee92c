/** Words that the steps of a bitemporal batch share: names of columns, and how keys are matched. */
import type { Expr } from '../expr/tree.ts'
import { col, lit } from '../expr/walk.ts'
import type { Relation } from '../relation/tree.ts'
import { BeliefColumns } from './beliefs.ts'
import type { BatchBounds } from './compute.ts'
import type { SystemAxis } from './definition.ts'
import { firstOfKey } from './event-rows.ts'
import { type NamedValue, all, atLeast, equal, less, no, not } from './terms.ts'
import { WorkingColumns, keyName, systemSequence } from './working-rows.ts'

/** Columns of a key's moments, beside the keys. */
export const moment = {
  /** The system sequence, the moment's number within its key (from 1), and the next system sequence. */
  at: '$moment',
  number: '$number',
  next: '$nextMoment',
} as const

/** Name of a column on the right side of a join. */
export const other = (name: string): string => `o.${name}`

export class BitemporalWords {
  readonly columns: WorkingColumns
  readonly system: SystemAxis
  /** The same flow with the moment as one more key: each moment is folded by itself. */
  readonly byMoment: WorkingColumns
  readonly names: BeliefColumns

  constructor(columns: WorkingColumns, system: SystemAxis) {
    this.columns = columns
    this.system = system
    const { definition } = columns
    const keys = [...definition.keys, { name: moment.at, type: system.type }]
    this.byMoment = new WorkingColumns({ ...definition, keys, system: undefined })
    this.names = new BeliefColumns(columns, system)
  }

  get systemOf(): Expr {
    return col(systemSequence, this.system.type)
  }

  /** Columns of an event: those of a working row, and its system sequence. */
  eventNames(): NamedValue[] {
    const columns = this.columns
    const own = columns.project({
      key: (_, place) => columns.keys[place] ?? no,
      payload: (column) => columns.payload(column),
      writes: (column) => columns.writes(column),
      shown: (column) => columns.shown(column),
      rest: this.rest(columns),
    })
    return [...own, { name: systemSequence, value: this.systemOf }]
  }

  rest(columns: WorkingColumns) {
    const { sequence, isDelete, origin, weak, file, position, start, end } = columns
    return { sequence, isDelete, origin, weak, file, position, start, end }
  }

  keyBounds({ leastKey, greatestKey }: BatchBounds): Expr[] {
    const [key] = this.columns.definition.keys
    if (key === undefined || leastKey === null || greatestKey === null) return []
    const value = col(`t.${key.name}`, key.type)
    return [atLeast(value, lit(leastKey, key.type)), not(less(lit(greatestKey, key.type), value))]
  }

  sameKeys(): Expr {
    const { keys } = this.columns.definition
    return all(...keys.map(({ name, type }) => equal(col(keyName(name), type), col(other(keyName(name)), type))))
  }

  /** Keys under other names, with further columns under other names too. */
  renamed(input: Relation, further: readonly NamedValue[]): Relation {
    return {
      kind: 'project',
      input,
      columns: [...this.columns.keepKeys(), ...further].map(({ name, value }) => ({ name: other(name), value })),
    }
  }

  firsts(first: Relation): Relation {
    return this.renamed(first, [{ name: firstOfKey, value: col(firstOfKey, this.system.type) }])
  }
}
