import { Command, Option } from 'commander'
import type { SourceLag } from '../../relation/event-source.ts'
import type { AutoCdc, AutoCdcBatch, AutoCdcRun } from '../../table/auto-cdc.ts'
import { type AutoCdcTotals, summed } from '../../table/batch-totals.ts'
import { readFlowFile } from '../flow-file.ts'
import { sourceOf } from '../flow-source.ts'
import { type JsonFlag, wholeNumber, withJson } from '../options.ts'
import { print, printDocument } from '../output.ts'
import { startProgress } from '../progress.ts'
import { UsageError } from '../exit-codes.ts'
import { bytes, count, plural } from '../text-table.ts'

interface Flags extends JsonFlag {
  readonly continuous?: boolean
  readonly maxRows?: number
}

export function cdcRunCommand(): Command {
  const command = new Command('run')
    .description('read the events of a flow and apply them to its target, batch by batch, each in one commit')
    .argument('<flow>', 'flow file: .ts, .mts, .js, .mjs, .cjs, .yaml, .yml or .json')
    .option('--continuous', 'wait for more events when all are read, until SIGINT or SIGTERM')
    .addOption(
      new Option('--max-rows <n>', 'events of a batch, about; default 100,000').argParser(wholeNumber('--max-rows')),
    )
    .addHelpText('after', examples)
    .action(runFlow)
  return withJson(command)
}

const examples = `
The first SIGINT or SIGTERM lets the batch under way commit and then ends; a second one ends at once.
Either way nothing is lost and nothing applied twice: the target's commit holds how far the source was read.

Examples:
  $ braid cdc run customers.yaml
  $ braid cdc run customers.mjs --continuous --max-rows 20000`

async function runFlow(path: string, { continuous = false, maxRows, json = false }: Flags): Promise<void> {
  if (maxRows === 0) throw new UsageError('--max-rows 0: a batch has at least one row')
  const file = await readFlowFile(path)
  const source = await sourceOf(file)
  const { autoCdc } = await import('../../compose.ts')
  const flow = autoCdc({ ...file.options, target: file.target, properties: file.properties, source })
  const stop = stopSignal()
  const account = new Account(flow, continuous && !json && !process.stderr.isTTY)
  const progress = startProgress(() => account.line())
  try {
    const onBatch = (batch: AutoCdcBatch) => account.add(batch)
    const done = await flow.run({ follow: continuous, maxRows, stop: stop.signal, onBatch })
    progress.end()
    const seconds = account.seconds()
    if (json) await printDocument('cdc run', { flow: flow.name, target: flow.target, ...done, seconds })
    else await print(runText(flow, done, seconds))
  } catch (error) {
    progress.end()
    if (!json) process.stderr.write(account.appliedBefore())
    throw error
  } finally {
    progress.end()
    stop.end()
    await flow.close()
  }
}

/** The first signal ends the run behind the batch under way. The second one has the system's meaning again. */
function stopSignal(): { readonly signal: AbortSignal; end(): void } {
  const controller = new AbortController()
  const stop = () => {
    process.stderr.write('stopping when the batch under way is committed; once more to give it up\n')
    controller.abort()
    end()
  }
  const end = () => {
    process.off('SIGINT', stop)
    process.off('SIGTERM', stop)
  }
  process.on('SIGINT', stop)
  process.on('SIGTERM', stop)
  return { signal: controller.signal, end }
}

/** Milliseconds between two looks at what waits in the source. */
const lagEveryMs = 2_000

/** Counts as batches come, for the line on a terminal and for logs. */
class Account {
  readonly #flow: AutoCdc
  readonly #logs: boolean
  readonly #startedMs = Date.now()
  #batches = 0
  #events = 0
  #lag = ''
  #askedMs = 0

  constructor(flow: AutoCdc, logs: boolean) {
    this.#flow = flow
    this.#logs = logs
  }

  add(batch: AutoCdcBatch): void {
    this.#batches++
    this.#events += batch.events
    if (Date.now() - this.#askedMs >= lagEveryMs) void this.#askLag()
    if (this.#logs) process.stderr.write(`${batchText(batch)}${this.#lag}\n`)
    for (const { message } of batch.warnings) process.stderr.write(`warning: ${message}\n`)
  }

  line(): string {
    const rate = Math.round(this.#events / Math.max(this.seconds(), 0.001))
    const done = `${plural(this.#batches, 'batch', 'batches')}, ${plural(this.#events, 'event')}, ${count(rate)}/s`
    return `${this.#flow.name}: ${done}${this.#lag}`
  }

  /** For a run that fails: what it committed stays. */
  appliedBefore(): string {
    if (this.#batches === 0) return ''
    return `applied before the failure: ${plural(this.#events, 'event')} in ${plural(this.#batches, 'batch', 'batches')}\n`
  }

  seconds(): number {
    return (Date.now() - this.#startedMs) / 1000
  }

  async #askLag(): Promise<void> {
    this.#askedMs = Date.now()
    try {
      this.#lag = lagText(await this.#flow.lag())
    } catch {
      // A source that cannot say will tell why when it is read.
      this.#lag = ''
    }
  }
}

export function lagText(lag: SourceLag | undefined): string {
  if (lag === undefined) return ''
  const { events, files, bytes: size, milliseconds } = lag
  const known = Object.values(lag).filter((value) => value !== undefined)
  if (known.length > 0 && known.every((value) => value === 0)) return ', nothing waits'
  const parts = [
    ...(events === undefined ? [] : [plural(events, 'event')]),
    ...(files === undefined ? [] : [plural(files, 'file')]),
    ...(size === undefined ? [] : [bytes(size)]),
    ...(milliseconds === undefined ? [] : [`${(milliseconds / 1000).toFixed(1)} s`]),
  ]
  return parts.length === 0 ? '' : `, ${parts.join(', ')} behind`
}

function batchText(batch: AutoCdcBatch): string {
  const { version, events, milliseconds } = batch
  return `version ${version}: ${plural(events, 'event')} in ${(milliseconds / 1000).toFixed(2)} s: ${countsText(batch)}`
}

function countsText(counts: AutoCdcTotals): string {
  const parts = summed.flatMap((word) => (counts[word] === 0 ? [] : [`${count(counts[word])} ${word}`]))
  return parts.length === 0 ? 'nothing changed' : parts.join(', ')
}

function runText(flow: AutoCdc, done: AutoCdcRun, seconds: number): string {
  const lines = [
    `Applied ${plural(done.events, 'event')} in ${plural(done.batches, 'batch', 'batches')} to ${flow.target} in ${seconds.toFixed(1)} s`,
    `  ${countsText(done.totals)}`,
    ...(done.superseded === 0
      ? []
      : [`  ${plural(done.superseded, 'batch', 'batches')} had been applied by another process`]),
  ]
  return lines.map((line) => `${line}\n`).join('')
}
