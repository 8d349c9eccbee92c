/** MERGE, clause by clause, in the words of the query builders. Clauses are tried in the order they are added. */
import type { SetList } from '../commands/assignments.ts'
import type { MergeClause } from '../commands/merge-clauses.ts'
import type { CommitResult } from '../transaction/outcome.ts'
import type { StatementOptions } from './options.ts'

/** @typeParam Options of `execute`; in a transaction parameters alone, since the rest is said where it begins */
export class MergeBuilder<Result = CommitResult, Options extends object = StatementOptions> {
  readonly #clauses: readonly MergeClause[]
  readonly #run: (clauses: readonly MergeClause[], options: Partial<Options>) => Promise<Result>

  /** Use `merge` of a table or a transaction. */
  constructor(
    run: (clauses: readonly MergeClause[], options: Partial<Options>) => Promise<Result>,
    clauses: readonly MergeClause[] = [],
  ) {
    this.#run = run
    this.#clauses = clauses
  }

  /** A target row that a source row matches. `condition` may use `t` and `s`. */
  whenMatched(condition?: string): MatchedClause<Result, Options> {
    return new MatchedClause((clause) => this.#with(clause), condition)
  }

  /** A source row that no target row matches. `condition` may use `s`. */
  whenNotMatched(condition?: string): NotMatchedClause<Result, Options> {
    return new NotMatchedClause((clause) => this.#with(clause), condition)
  }

  /** A target row that no source row matches. `condition` may use `t`. */
  whenNotMatchedBySource(condition?: string): NotMatchedBySourceClause<Result, Options> {
    return new NotMatchedBySourceClause((clause) => this.#with(clause), condition)
  }

  /**
   * Runs the MERGE as one commit. Retries: a lost race is reconciled as `onConflict` says; the source was staged once, so a repeat reads
   * the same rows.
   */
  execute(options: Partial<Options> = {}): Promise<Result> {
    return this.#run(this.#clauses, options)
  }

  #with(clause: MergeClause): MergeBuilder<Result, Options> {
    return new MergeBuilder(this.#run, [...this.#clauses, clause])
  }
}

type Add<Result, Options extends object> = (clause: MergeClause) => MergeBuilder<Result, Options>

export class MatchedClause<Result, Options extends object> {
  readonly #add: Add<Result, Options>
  readonly #condition: string | undefined

  constructor(add: Add<Result, Options>, condition: string | undefined) {
    this.#add = add
    this.#condition = condition
  }

  /** Sets columns to expressions over `t` and `s`. */
  update(set: SetList): MergeBuilder<Result, Options> {
    return this.#add({ when: 'matched', condition: this.#condition, action: 'update', set })
  }

  /** Sets every column to the source column of its name. */
  updateAll(): MergeBuilder<Result, Options> {
    return this.#add({ when: 'matched', condition: this.#condition, action: 'update', set: 'all' })
  }

  delete(): MergeBuilder<Result, Options> {
    return this.#add({ when: 'matched', condition: this.#condition, action: 'delete' })
  }
}

export class NotMatchedClause<Result, Options extends object> {
  readonly #add: Add<Result, Options>
  readonly #condition: string | undefined

  constructor(add: Add<Result, Options>, condition: string | undefined) {
    this.#add = add
    this.#condition = condition
  }

  /** Inserts a row of expressions over `s`; columns not named are NULL. */
  insert(values: SetList): MergeBuilder<Result, Options> {
    return this.#add({ when: 'not-matched', condition: this.#condition, action: 'insert', values })
  }

  /** Inserts every column from the source column of its name. */
  insertAll(): MergeBuilder<Result, Options> {
    return this.#add({ when: 'not-matched', condition: this.#condition, action: 'insert', values: 'all' })
  }
}

export class NotMatchedBySourceClause<Result, Options extends object> {
  readonly #add: Add<Result, Options>
  readonly #condition: string | undefined

  constructor(add: Add<Result, Options>, condition: string | undefined) {
    this.#add = add
    this.#condition = condition
  }

  /** Sets columns to expressions over `t`. */
  update(set: SetList): MergeBuilder<Result, Options> {
    return this.#add({ when: 'not-matched-by-source', condition: this.#condition, action: 'update', set })
  }

  delete(): MergeBuilder<Result, Options> {
    return this.#add({ when: 'not-matched-by-source', condition: this.#condition, action: 'delete' })
  }
}
