import { Command } from 'commander'
import { exitCodes } from '../exit-codes.ts'
import { type JsonFlag, withJson } from '../options.ts'
import { print, printDocument } from '../output.ts'
import { startProgress } from '../progress.ts'
import { Reported } from '../report-error.ts'
import type { Finished } from '../demo/crew.ts'
import type { DemoEvents, DemoReport } from '../demo/run-demo.ts'

interface Flags extends JsonFlag {
  readonly table?: string
  readonly dir?: string
  readonly keep?: boolean
}

export function demoCommand(): Command {
  const command = new Command('demo')
    .description('eight processes MERGE into one table at once; then every row is checked')
    .option(
      '--table <folder>',
      'Delta table to copy; default: the one that comes with the project, or a bigger one beside it',
    )
    .option('--dir <folder>', 'work here, and keep what is made; default: a temporary folder')
    .option('--keep', 'keep the temporary folder')
    .addHelpText('after', explanation)
    .action(demo)
  return withJson(command)
}

const explanation = `
The table is copied and deletion vectors are turned on. Eight processes read the same version: six
MERGE corrections for counties of their own, two MERGE the same county. You see who committed which
version, what each commit before it meant to it, and how that was settled. Then the table is compared,
row by row, with the eight statements run one after another in plain DuckDB.
The command fails if anything differs.`

async function demo(flags: Flags): Promise<void> {
  const startedMs = Date.now()
  const [{ findDemoTable }, { demoFolder, removeFolder, runDemo }, timeline] = await Promise.all([
    import('../demo/find-table.ts'),
    import('../demo/run-demo.ts'),
    import('../demo/timeline.ts'),
  ])
  const source = findDemoTable(flags.table)
  const folder = await demoFolder(flags.dir)
  const kept = flags.keep === true || flags.dir !== undefined
  try {
    const report = await runDemo(source, folder, flags.json === true ? silent : live(timeline))
    const elapsedMs = Date.now() - startedMs
    if (flags.json === true) await printDocument('demo', asDocument(report, elapsedMs))
    else {
      await print(timeline.matrixText(report.finished))
      await print(timeline.verdictText(report.checks, elapsedMs))
      if (report.rows !== undefined) await print(timeline.differencesText(report.rows))
      if (kept) await print(`\nThe table is kept: braid history ${report.facts.path}\n`)
    }
    if (report.checks.some(({ ok }) => !ok)) throw new Reported(exitCodes.failed)
  } finally {
    if (!kept) await removeFolder(folder)
  }
}

const silent: DemoEvents = {
  onStep: startProgress,
  async onPrepared() {},
  async onBarrier() {},
  async onFinished() {},
}

function live(timeline: typeof import('../demo/timeline.ts')): DemoEvents {
  return {
    onStep: startProgress,
    onPrepared: (...prepared) => print(timeline.openingText(...prepared)),
    onBarrier: (readVersions) => print(timeline.barrierText(readVersions)),
    onFinished: (...finished) => print(timeline.finishedText(...finished)),
  }
}

function asDocument(
  { facts, corrections, sourceRows, finished, rows, checks }: DemoReport,
  elapsedMs: number,
): Readonly<Record<string, unknown>> {
  return {
    ok: checks.every(({ ok }) => ok),
    table: facts,
    statements: corrections.map(({ number, counties, shared, set }, i) => ({
      number,
      counties,
      shared,
      set,
      sourceRows: sourceRows[i],
      outcome: outcomeOf(finished.find(({ correction }) => correction.number === number)),
    })),
    checks,
    rows,
    elapsedMs,
  }
}

function outcomeOf(finished: Finished | undefined): Readonly<Record<string, unknown>> | undefined {
  if (finished === undefined) return undefined
  const { correction: _, ...outcome } = finished
  return outcome
}
