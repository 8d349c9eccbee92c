/**
 * Takes the guards of AUTO CDC away one by one, in a copy of the sources, and expects the tests to notice. Not part of the ordinary run:
 * `npm run mutations`, or `npm run mutations -- WORD` for those whose name has the word. CDC_RUNS and CDC_SEED set the random tests.
 */
import { spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const project = fileURLToPath(new URL('../../', import.meta.url))
const random = 'test/cdc/flows-random.test.ts'
const named = 'test/cdc/flows.test.ts'
const histories = 'test/cdc/engine.test.ts'
const columns = 'test/cdc/column-evolution-random.test.ts'
const columnRaces = 'test/cdc/column-evolution-races.test.ts'
const beside = 'test/cdc/maintenance-busy.test.ts'
const beliefs = 'test/cdc/belief-maintenance-random.test.ts'

/** `from` must stand in the file exactly once. `isImplied`: other guards do its work as well, so nothing need fail. */
const mutations = [
  {
    name: 'a tie leaves no explicit tombstone',
    file: 'src/cdc/fold.ts',
    from: 'const beaten = all(columns.isDelete, bool(tie.hasUpsert))',
    to: 'const beaten = not(yes)',
    tests: [histories],
  },
  {
    name: 'a tie with an earlier try leaves no explicit tombstone',
    file: 'src/cdc/resolve-ties.ts',
    from: "hasUpsert: some('$upserts')",
    to: "hasUpsert: some('$stored')",
    tests: [named, random],
  },
  {
    name: 'dead attempts count as live',
    file: 'src/cdc/live-state.ts',
    from: '...pin.dead.map((range) => not(inRange(attempt, range))),',
    to: '',
    tests: [random],
  },
  {
    name: 'live state is left out of the check',
    file: 'src/cdc/common-keys.ts',
    from: 'const events = await newEvents(columns, state, winners)',
    to: 'const events = undefined as Awaited<ReturnType<typeof newEvents>>',
    tests: [named, random],
  },
  {
    name: 'twins do not conflict',
    file: 'src/cdc/batch.ts',
    from: 'new Set([domainOf(this.#columns.definition.flow)])',
    to: 'new Set<string>([])',
    tests: [named, random],
  },
  {
    name: 'died attempts are not noticed',
    file: 'src/cdc/batch.ts',
    from: '[...this.#pins.values()].some((pin) => someDied(pin, pins.get(pin.flow))) ||',
    to: '',
    // Whatever makes attempts die writes the pin of every flow, so the batch starts again as for a twin; and what they held that the
    // target does not show is newly live elsewhere, so its keys are computed again. The guard stands in case a verb writes fewer pins.
    isImplied: true,
    tests: [named],
  },
  {
    name: 'compaction deletes before it commits',
    file: 'src/cdc/maintenance/rewrite.ts',
    from: 'const newest = await tables.target.log.refresh()',
    to: `const early = [...this.#pins.values()].filter(({ last }) => last > 0)
      .map(({ flow, last }) => \`(__flow = '\${flow}' AND __attempt <= \${last})\`)
    if (early.length > 0) await (await import('./dead-rows.ts')).deleteWhere(this.#context, early.join(' OR '))
    const newest = await tables.target.log.refresh()`,
    tests: [random],
  },
  {
    name: 'a verb leaves keys that winners changed as they were',
    file: 'src/cdc/maintenance/rewrite.ts',
    from: 'if (common.rowCount > 0) await this.#apply(',
    to: 'if (common.rowCount < 0) await this.#apply(',
    tests: [beside],
  },
  {
    name: 'a verb leaves beliefs that winners changed as they were',
    file: 'src/cdc/maintenance/rewrite-beliefs.ts',
    from: 'if (common.rowCount > 0) await this.#again(common)',
    to: 'if (common.rowCount < 0) await this.#again(common)',
    tests: [beliefs],
  },
  {
    name: 'what flows append while a verb works dies with what it read',
    file: 'src/cdc/maintenance/verbs.ts',
    from: 'const lastOf = (flow: string) => read.get(flow)?.last ?? 0',
    to: 'const lastOf = (flow: string) => (read.size < 0 ? 0 : (pins.get(flow)?.last ?? 0))',
    // The rows of other targets are folded from what is there by then, and so appended again.
    tests: [beliefs],
  },
  {
    name: 'a truncate is not checked against new keys',
    file: 'src/cdc/batch.ts',
    from: '(this.#admitted.truncates.length > 0 && (commits.some(changesData) || broughtAttempts(this.#pins, pins))) ||',
    to: '',
    tests: [named, random],
  },
  {
    name: 'the suffix of the target begins behind the cutoff, not at it',
    file: 'src/cdc/target-suffix.ts',
    from: 'all(isThere(since), not(isBefore(end, since)))',
    to: 'all(isThere(since), isBefore(since, end))',
    tests: [histories],
  },
  {
    name: 'the suffix of the state begins behind the cutoff, not at it',
    file: 'src/cdc/live-state.ts',
    from: 'any(isNull(from), not(isBefore(sequence, from)))',
    to: 'any(isNull(from), isBefore(from, sequence))',
    tests: [histories],
  },
  {
    name: 'a struct that is there writes all its leaves',
    file: 'src/cdc/definition.ts',
    from: "return call('is not null', [value])",
    to: "return call('is not null', [fromSource(column)])",
    tests: [histories],
  },
  {
    name: 'a struct of NULL leaves is no NULL',
    file: 'src/cdc/leaves.ts',
    from: 'when(any(...leaves.map(isThere)), { ...whole, type })',
    to: '{ ...whole, type }',
    tests: [histories],
  },
  {
    name: 'hidden rows are dropped',
    file: 'src/cdc/fold.ts',
    from: 'any(hidden, tombstone, beaten)',
    to: 'any(tombstone, beaten)',
    tests: [histories],
  },
  {
    name: 'the first row of the window starts at its record start',
    file: 'src/cdc/fold.ts',
    from: 'when(stored, firstStart, columns.sequence)',
    to: 'when(not(yes), firstStart, columns.sequence)',
    // The state is read from the start of the first run, so its head is there; only a gc leaves a run without one.
    tests: ['test/cdc/maintenance-random.test.ts'],
  },
  {
    name: 'a tail is kept where an event stands',
    file: 'src/cdc/target-suffix.ts',
    from: 'weak: yes,',
    to: 'weak: no,',
    tests: [histories],
  },
  {
    // Ours reads one suffix: the state from where the rows read of the target begin. Apart, it would be read from the batch's first event.
    name: 'target and state have anchors of their own',
    file: 'src/cdc/live-state.ts',
    from: 'if (definition.scdType === 2) inputs.push(keyed(suffix, columns.start))',
    to: '',
    tests: [histories],
  },
  {
    name: 'a batch is committed for the columns of before',
    file: 'src/cdc/batch.ts',
    from: "if (termsOf(base, definition.flow) !== this.#batch.terms) return { kind: 'reshaped' }",
    to: '',
    tests: [columnRaces, columns],
  },
  {
    name: 'an append fails that lost to a commit of columns',
    file: 'src/cdc/side-writes.ts',
    from: 'cause instanceof BraidlakeError &&',
    to: 'cause instanceof TypeError &&',
    tests: [columnRaces, columns],
  },
  {
    name: 'events have written columns that came after them',
    file: 'src/cdc/live-state.ts',
    from: 'first(flagIn(written, leaf), surely(isDelete))',
    to: 'first(flagIn(written, leaf), yes)',
    tests: [columns],
  },
  {
    name: 'a flow works on the columns that it has alone',
    file: 'src/table/flow.ts',
    from: 'const fitted = fittedDefinition(definition, target, state)',
    to: 'const fitted = definition',
    tests: [columns],
  },
]

const word = process.argv[2] ?? ''
const folder = mkdtempSync(join(tmpdir(), 'braidlake-mutations-'))
for (const part of ['src', 'test', 'package.json', 'tsconfig.json', 'vitest.config.ts']) {
  cpSync(join(project, part), join(folder, part), { recursive: true })
}
symlinkSync(join(project, 'node_modules'), join(folder, 'node_modules'))

let survived = 0
for (const mutation of mutations.filter(({ name }) => name.includes(word))) {
  const file = join(folder, mutation.file)
  const source = readFileSync(file, 'utf8')
  if (source.split(mutation.from).length !== 2) {
    survived++
    console.log(`DOES NOT APPLY  ${mutation.name}: ${mutation.file} has not exactly one ${mutation.from}`)
    continue
  }
  writeFileSync(
    file,
    source.replace(mutation.from, () => mutation.to),
  )
  let killers = []
  for (const test of mutation.tests) if (killers.length === 0) killers = killersIn(test)
  writeFileSync(file, source)
  if (killers.length === 0 && mutation.isImplied !== true) survived++
  const verdict = mutation.isImplied === true ? 'implied ' : 'SURVIVED'
  console.log(`${killers.length === 0 ? verdict : 'killed  '}  ${mutation.name}`)
  for (const killer of killers.slice(0, 4)) console.log(`            by ${killer}`)
}
rmSync(folder, { recursive: true })
process.exitCode = survived === 0 ? 0 : 1

/** Titles of the tests that fail; with the seed where one is named. */
function killersIn(test) {
  const args = ['vitest', 'run', test, '--bail', '1', '-t', 'lives from|memory plane|twin|source|other programs']
  const env = { CDC_RUNS: test === random ? '1000' : '60', ...process.env, NO_COLOR: '1', CI: '1' }
  const { status, stdout, stderr } = spawnSync('npx', args, { cwd: folder, env, encoding: 'utf8', maxBuffer: 1 << 28 })
  if (status === 0) return []
  const said = `${stdout}\n${stderr}`
  const failed = [...new Set([...said.matchAll(/^ FAIL {2}(.*)$/gm)].map(([, title]) => title))]
  const [, seed] = /(?<!from )seed (\d+)/.exec(said) ?? []
  const titles = failed.length === 0 ? [`${test} does not run`] : failed
  return titles.map((title) => (seed === undefined ? title : `${title} (seed ${seed})`))
}
