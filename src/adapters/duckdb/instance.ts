/**
 * One DuckDB instance a process for all planes with the same settings, loaded on first use, so that reading a log never loads DuckDB.
 * A running query holds a thread of libuv's pool of four; more than three at once would starve file reads, so a semaphore stands before
 * every step. A connection carries one statement at a time; an open stream keeps its connection but not its turn.
 */
import { createRequire } from 'node:module'
import { cpus, tmpdir, totalmem } from 'node:os'
import { join } from 'node:path'
import type { DuckDBConnection, DuckDBDataChunk, DuckDBInstance, DuckDBResult, DuckDBValue } from '@duckdb/node-api'
import { failure } from '../../base/errors.ts'
import type { RunOptions } from '../../relation/data-plane.ts'
import { cancelled, classified } from './errors.ts'
import { registerFunctions } from './functions-js.ts'

export type DuckdbApi = typeof import('@duckdb/node-api')

export interface EngineSettings {
  readonly memoryLimitBytes: number
  readonly threads: number
  readonly tempDirectory: string
}

const gibibyte = 2 ** 30
const maxInFlight = 3
/** A signal can fire before DuckDB has begun, and an interrupt then is lost: it is repeated until the query has ended. */
const interruptAgainMs = 20
const progressEveryMs = 250

/** The smaller of 1 GiB and a quarter of what the container, or else the machine, has. */
function defaultMemoryLimit(): number {
  const constrained = process.constrainedMemory()
  const total = totalmem()
  const available = constrained > 0 && constrained < total ? constrained : total
  return Math.min(gibibyte, Math.floor(available / 4))
}

export function engineSettings(options: {
  readonly [K in keyof EngineSettings]?: EngineSettings[K] | undefined
}): EngineSettings {
  return {
    memoryLimitBytes: options.memoryLimitBytes ?? defaultMemoryLimit(),
    threads: options.threads ?? Math.max(1, cpus().length),
    tempDirectory: options.tempDirectory ?? join(tmpdir(), `braidlake-${process.pid}`),
  }
}

/** Turns for up to `size` callers at once, first come first served. */
class Turns {
  private free: number
  private readonly waiting: (() => void)[] = []

  constructor(size: number) {
    this.free = size
  }

  async take<T>(work: () => Promise<T>): Promise<T> {
    if (this.free > 0) this.free -= 1
    else await new Promise<void>((resolve) => this.waiting.push(resolve))
    try {
      return await work()
    } finally {
      const next = this.waiting.shift()
      if (next) next()
      else this.free += 1
    }
  }
}

const turns = new Turns(maxInFlight)

/** Runs DuckDB work on a connection; the signal interrupts it, and what it throws is one of our errors. */
async function guarded<T>(
  connection: DuckDBConnection,
  options: RunOptions | undefined,
  work: () => Promise<T>,
): Promise<T> {
  const signal = options?.signal
  if (signal?.aborted === true) throw cancelled(signal)
  let again: NodeJS.Timeout | undefined
  const interrupt = () => {
    connection.interrupt()
    again ??= setInterval(() => connection.interrupt(), interruptAgainMs)
  }
  signal?.addEventListener('abort', interrupt, { once: true })
  const watch = watchProgress(connection, options)
  try {
    return await turns.take(() => {
      if (signal?.aborted === true) throw cancelled(signal)
      return work()
    })
  } catch (error) {
    throw classified(error, signal)
  } finally {
    signal?.removeEventListener('abort', interrupt)
    clearInterval(again)
    clearInterval(watch)
  }
}

function watchProgress(connection: DuckDBConnection, options: RunOptions | undefined): NodeJS.Timeout | undefined {
  const report = options?.onProgress
  if (!report) return undefined
  return setInterval(() => {
    const { percentage } = connection.progress
    if (percentage >= 0) report(Math.min(1, percentage / 100))
  }, progressEveryMs).unref()
}

/** A connection out of the pool. Whoever takes one gives it back. */
export interface Session {
  readonly api: DuckdbApi
  readonly connection: DuckDBConnection
  /** One or more statements, the last one's result in whole. */
  run(sql: string, options?: RunOptions): Promise<readonly DuckDBDataChunk[]>
  /** The result in chunks, as they come. */
  stream(sql: string, options?: RunOptions, params?: Readonly<Record<string, DuckDBValue>>): Promise<ResultStream>
}

export interface ResultStream {
  readonly result: DuckDBResult
  next(): Promise<DuckDBDataChunk | undefined>
}

/** The driver keeps the reason for itself, so the query is run once more without its rows: it fails alike, and says why. */
async function whyItFailed(
  connection: DuckDBConnection,
  sql: string,
  params: Readonly<Record<string, DuckDBValue>> | undefined,
  signal: AbortSignal | undefined,
): Promise<unknown> {
  if (signal?.aborted === true) return cancelled(signal)
  try {
    await connection.run(`EXPLAIN ANALYZE ${sql}`, params)
  } catch (error) {
    return error
  }
  return failure('ENGINE_FAILED', 'The query failed before its last row; run it again.')
}

function session(api: DuckdbApi, connection: DuckDBConnection): Session {
  return {
    api,
    connection,
    run(sql, options) {
      return guarded(connection, options, async () => {
        const result = await connection.run(sql)
        return result.fetchAllChunks()
      })
    },
    async stream(sql, options, params) {
      const result = await guarded(connection, options, () => connection.stream(sql, params))
      const isStream = result.isStreaming
      const next = async () => {
        const chunk = await result.fetchChunk()
        if (chunk !== null && chunk.rowCount > 0) return chunk
        // A stream that fails after its first rows ends like one that is done, but is no stream any more.
        if (isStream && !result.isStreaming) throw await whyItFailed(connection, sql, params, options?.signal)
        return undefined
      }
      return { result, next: () => guarded(connection, { signal: options?.signal }, next) }
    },
  }
}

export interface Engine {
  /** Lends a connection for the time of the work. */
  use<T>(work: (session: Session) => Promise<T>): Promise<T>
  take(): Promise<Session>
  give(session: Session): void
  /** A name that no table of the shared instance has. */
  freshName(prefix: string): string
  close(): void
}

interface Shared {
  readonly ready: Promise<{ readonly api: DuckdbApi; readonly instance: DuckDBInstance }>
  readonly idle: Session[]
  users: number
  names: number
}

const instances = new Map<string, Shared>()

/** The package is CommonJS: imported, its text would be searched for export names first, which takes longer than loading it. */
function load(): DuckdbApi {
  const api: DuckdbApi = createRequire(import.meta.url)('@duckdb/node-api')
  return api
}

async function start(settings: EngineSettings) {
  const api = load()
  const instance = await api.DuckDBInstance.create(':memory:', {
    memory_limit: `${Math.max(64, Math.floor(settings.memoryLimitBytes / 2 ** 20))}MiB`,
    threads: String(settings.threads),
    temp_directory: settings.tempDirectory,
    autoinstall_known_extensions: 'false',
    autoload_known_extensions: 'false',
    preserve_insertion_order: 'true',
  })
  const connection = await instance.connect()
  registerFunctions(api, connection)
  connection.closeSync()
  return { api, instance }
}

function share(settings: EngineSettings, key: string): Shared {
  const known = instances.get(key)
  if (known) return known
  const shared: Shared = { ready: start(settings), idle: [], users: 0, names: 0 }
  instances.set(key, shared)
  shared.ready.catch(() => instances.delete(key))
  return shared
}

/** The progress bar is never printed; it is what makes progress known. Footers are cached, checked by modification time. */
const sessionSettings =
  "SET TimeZone='UTC'; SET enable_progress_bar=true; SET enable_progress_bar_print=false; SET parquet_metadata_cache=true"

async function connect(shared: Shared): Promise<Session> {
  try {
    const { api, instance } = await shared.ready
    const connection = await instance.connect()
    await connection.run(sessionSettings)
    return session(api, connection)
  } catch (error) {
    throw classified(error, undefined)
  }
}

/** A share in the process's instance for these settings; DuckDB loads when the first session is taken. */
export function engine(settings: EngineSettings): Engine {
  const key = JSON.stringify(settings)
  let mine: Shared | undefined
  let closed = false
  const shared = (): Shared => {
    if (closed) throw failure('CLOSED', 'The data plane was closed; open the table again.')
    if (mine) return mine
    mine = share(settings, key)
    mine.users += 1
    return mine
  }
  const take = async () => {
    const pool = shared()
    return pool.idle.pop() ?? connect(pool)
  }
  const give = (used: Session) => {
    if (closed && mine?.users === 0) used.connection.closeSync()
    else mine?.idle.push(used)
  }
  return {
    take,
    give,
    async use(work) {
      const taken = await take()
      try {
        return await work(taken)
      } finally {
        give(taken)
      }
    },
    freshName(prefix) {
      const pool = shared()
      pool.names += 1
      return `${prefix}_${pool.names}`
    },
    close() {
      if (closed) return
      closed = true
      if (mine) release(mine, key)
    },
  }
}

function release(shared: Shared, key: string): void {
  shared.users -= 1
  if (shared.users > 0) return
  instances.delete(key)
  for (const idle of shared.idle.splice(0)) idle.connection.closeSync()
  shared.ready.then(({ instance }) => instance.closeSync()).catch(() => undefined)
}
