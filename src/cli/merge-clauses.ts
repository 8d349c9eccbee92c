/**
 * The clauses of `braid merge`, in the order they stand on the command line: MERGE tries them in that order. A `--set` belongs to the
 * update or insert clause before it.
 */
import type { MergeClause } from '../commands/merge-clauses.ts'
import type { MergeBuilder } from '../table/merge-builder.ts'
import { type Command, Option } from 'commander'
import { UsageError } from './exit-codes.ts'
import { assignment } from './set-list.ts'

const flags = [
  ['--when-matched-update-all', 'matched rows: every column from the source'],
  ['--when-matched-update', 'matched rows: the columns of the --set options that follow'],
  ['--when-matched-delete', 'matched rows: delete'],
  ['--when-not-matched-insert-all', 'source rows without a match: insert every column'],
  ['--when-not-matched-insert', 'source rows without a match: insert the columns of the --set options that follow'],
  ['--when-not-matched-by-source-update', 'target rows without a match: the columns of the --set options that follow'],
  ['--when-not-matched-by-source-delete', 'target rows without a match: delete'],
] as const

type Flag = (typeof flags)[number][0]

/** Collects what the parser meets, in its order. */
export class ClauseList {
  readonly #clauses: MergeClause[] = []

  addOptions(command: Command): Command {
    for (const [flag, description] of flags) {
      command.addOption(
        new Option(`${flag} [condition]`, description)
          .preset('')
          .argParser((condition: string) => this.#add(flag, condition)),
      )
    }
    return command.addOption(
      new Option('--set <column=expression>', 'for the clause before it; may be repeated').argParser((text: string) =>
        this.#set(text),
      ),
    )
  }

  /** @throws UsageError without clauses, or when one that sets columns has none */
  applyTo(builder: MergeBuilder): MergeBuilder {
    if (this.#clauses.length === 0) throw new UsageError('say what to do: give at least one --when-... option')
    let merge = builder
    for (const clause of this.#clauses) merge = withClause(merge, clause)
    return merge
  }

  /** Each condition given is returned, so that the parser keeps a value for the option. */
  #add(flag: Flag, condition: string): string {
    this.#clauses.push(clauseOf(flag, condition === '' ? undefined : condition))
    return condition
  }

  #set(text: string): string {
    const last = this.#clauses.at(-1)
    if (last?.action === 'update' && last.set !== 'all') {
      this.#clauses[this.#clauses.length - 1] = { ...last, set: assignment(text, last.set) }
    } else if (last?.action === 'insert' && last.values !== 'all') {
      this.#clauses[this.#clauses.length - 1] = { ...last, values: assignment(text, last.values) }
    } else {
      throw new UsageError(`--set ${text}: it must follow --when-matched-update or another clause that sets columns`)
    }
    return text
  }
}

function clauseOf(flag: Flag, condition: string | undefined): MergeClause {
  switch (flag) {
    case '--when-matched-update-all':
      return { when: 'matched', condition, action: 'update', set: 'all' }
    case '--when-matched-update':
      return { when: 'matched', condition, action: 'update', set: {} }
    case '--when-matched-delete':
      return { when: 'matched', condition, action: 'delete' }
    case '--when-not-matched-insert-all':
      return { when: 'not-matched', condition, action: 'insert', values: 'all' }
    case '--when-not-matched-insert':
      return { when: 'not-matched', condition, action: 'insert', values: {} }
    case '--when-not-matched-by-source-update':
      return { when: 'not-matched-by-source', condition, action: 'update', set: {} }
    case '--when-not-matched-by-source-delete':
      return { when: 'not-matched-by-source', condition, action: 'delete' }
  }
}

function withClause(merge: MergeBuilder, clause: MergeClause): MergeBuilder {
  switch (clause.when) {
    case 'matched': {
      const when = merge.whenMatched(clause.condition)
      if (clause.action === 'delete') return when.delete()
      return clause.set === 'all' ? when.updateAll() : when.update(filled(clause.set))
    }
    case 'not-matched': {
      const when = merge.whenNotMatched(clause.condition)
      return clause.values === 'all' ? when.insertAll() : when.insert(filled(clause.values))
    }
    case 'not-matched-by-source': {
      const when = merge.whenNotMatchedBySource(clause.condition)
      return clause.action === 'delete' ? when.delete() : when.update(filled(clause.set))
    }
  }
}

function filled<T extends object>(set: T): T {
  if (Object.keys(set).length > 0) return set
  throw new UsageError('a clause that sets columns must be followed by at least one --set "column = expression"')
}
