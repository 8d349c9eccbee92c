/**
 * The stream of a replication slot, over pg-logical-replication: messages in the order in which the server sends them, and how far the
 * server has read where it has nothing to send.
 *
 * Invariant: the server is told no position as flushed but those given to `confirm`. It is told again every second, so that it does not
 * take us for dead while a batch is being written. While the queue is full the socket is not read.
 */
import type { LogicalReplicationService } from 'pg-logical-replication'
import type { Pgoutput } from 'pg-logical-replication'
import { formatLsn, parseLsn } from './lsn.ts'
import type { PostgresPackages } from './pg-packages.ts'

export type StreamItem =
  | { readonly kind: 'message'; readonly message: Pgoutput.Message }
  /** All that was committed before this position has been sent. */
  | { readonly kind: 'reached'; readonly lsn: bigint }
  | { readonly kind: 'failed'; readonly error: unknown }

export interface StreamOptions {
  readonly config: Readonly<Record<string, unknown>>
  readonly slot: string
  readonly publication: string
  /** Transactions that committed before it are not sent. */
  readonly from: bigint
  readonly confirmed: bigint
}

const queueLimit = 1000
const statusMs = 1000

/** The session's text forms; see pg-values. */
export const textSettings = `SET datestyle = 'ISO'; SET timezone = 'UTC'; SET bytea_output = 'hex'; SET intervalstyle = 'iso_8601';
  SET extra_float_digits = 1`

export class SlotStream {
  readonly #service: LogicalReplicationService
  #queue: StreamItem[] = []
  #at = 0
  #confirmed: bigint
  #wake: (() => void) | undefined
  #drained: (() => void) | undefined
  #status: ReturnType<typeof setInterval> | undefined

  private constructor(service: LogicalReplicationService, confirmed: bigint) {
    this.#service = service
    this.#confirmed = confirmed
  }

  /** @throws the server's error, with its code: 55006 while another process has the slot */
  static async open({ replication }: PostgresPackages, options: StreamOptions): Promise<SlotStream> {
    const service = new replication.LogicalReplicationService(
      { ...options.config },
      { acknowledge: { auto: false, timeoutSeconds: 0 }, flowControl: { enabled: true } },
    )
    const stream = new SlotStream(service, options.confirmed)
    const plugin = plugging(replication, options.publication, (item) => stream.#push(item))
    const started = new Promise<void>((resolve) => {
      service.once('start', () => resolve())
    })
    service.on('error', (error) => stream.#push({ kind: 'failed', error }))
    service.on('data', () => stream.#room())
    service.on('heartbeat', (lsn, _timestamp, shouldRespond) => {
      stream.#push({ kind: 'reached', lsn: parseLsn(lsn) ?? 0n })
      if (shouldRespond) stream.#tell(false)
    })
    const running = service.subscribe(plugin, options.slot, formatLsn(options.from))
    try {
      await Promise.race([started, running])
    } catch (error) {
      await service.destroy()
      throw error
    }
    running.then(
      () => stream.#push({ kind: 'failed', error: new Error('the server ended the stream') }),
      (error: unknown) => stream.#push({ kind: 'failed', error }),
    )
    stream.#status = setInterval(() => stream.#tell(false), statusMs)
    return stream
  }

  /** The next item; undefined when so long nothing came, or the signal fired. */
  async next(waitMs: number, signal: AbortSignal | undefined): Promise<StreamItem | undefined> {
    if (this.#at >= this.#queue.length) await this.#wait(waitMs, signal)
    const item = this.#queue[this.#at]
    if (item === undefined) return undefined
    this.#at++
    if (this.#at === this.#queue.length) {
      this.#queue = []
      this.#at = 0
      this.#drained?.()
    }
    return item
  }

  async #wait(waitMs: number, signal: AbortSignal | undefined): Promise<void> {
    if (waitMs <= 0 || signal?.aborted === true) return
    await new Promise<void>((resolve) => {
      let timer: ReturnType<typeof setTimeout> | undefined
      const done = () => {
        clearTimeout(timer)
        signal?.removeEventListener('abort', done)
        resolve()
      }
      if (Number.isFinite(waitMs)) timer = setTimeout(done, waitMs)
      signal?.addEventListener('abort', done)
      this.#wake = done
    })
    this.#wake = undefined
  }

  #push(item: StreamItem): void {
    this.#queue.push(item)
    this.#wake?.()
  }

  /** The package waits for this before it reads more from the socket. */
  #room(): Promise<void> | undefined {
    if (this.#queue.length < queueLimit) return undefined
    return new Promise((resolve) => {
      this.#drained = resolve
    })
  }

  /** The server may forget what lies before. */
  confirm(lsn: bigint): void {
    if (lsn <= this.#confirmed) return
    this.#confirmed = lsn
    this.#tell(false)
  }

  /** Asks the server how far it is. */
  ping(): void {
    this.#tell(true)
  }

  #tell(ping: boolean): void {
    if (this.#confirmed === 0n) return
    // The package adds the one that a last byte lacks; ours is the position behind it already.
    void this.#service.acknowledge(formatLsn(this.#confirmed - 1n), ping)
  }

  async close(): Promise<void> {
    clearInterval(this.#status)
    this.#drained?.()
    this.#wake?.()
    await this.#service.destroy()
  }
}

/** Messages go to `push` as they are parsed, in one order with the server's answers; what the package emits only holds the socket back. */
function plugging(
  replication: PostgresPackages['replication'],
  publication: string,
  push: (item: StreamItem) => void,
): InstanceType<PostgresPackages['replication']['PgoutputPlugin']> {
  const name = `"${publication.replaceAll('"', '""')}"`.replaceAll("'", "''")
  class Plugin extends replication.PgoutputPlugin {
    override parse(buffer: Buffer): Pgoutput.Message {
      try {
        const message = super.parse(buffer)
        if (message.tag === 'relation') for (const column of message.columns) column.parser = (text: string) => text
        push({ kind: 'message', message })
        return message
      } catch (error) {
        push({ kind: 'failed', error })
        return nothing
      }
    }

    override async start(...[client, slot, lsn]: Parameters<InstanceType<typeof replication.PgoutputPlugin>['start']>) {
      await client.query(textSettings)
      return super.start(client, slot, lsn)
    }
  }
  return new Plugin({ protoVersion: 1, publicationNames: [name] })
}

const nothing: Pgoutput.Message = { tag: 'origin', originLsn: null, originName: '' }
