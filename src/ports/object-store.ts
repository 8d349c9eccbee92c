/**
 * Storage of one table. Paths are relative to the table root, decoded, with `/`; an absolute path or URL (shallow clones,
 * absolute log paths) is taken as it is. All failures are BraidlakeError: STORAGE_UNAVAILABLE, STORAGE_FULL, STORAGE_UNSUITABLE.
 */
export interface ObjectStore {
  /** The table root, for messages and for data planes on the same machine. */
  readonly root: string

  /** The same for every store of one place, whatever path led there. Absent: `root` is. */
  identity?(): string

  /** Where a data plane finds the object: an absolute file path or URL. */
  locate(path: string): string

  /** The bytes, or undefined where there is no such object. Never a torn object that this store wrote. */
  get(path: string): Promise<Uint8Array | undefined>

  /** Bytes `start` to `end` (0-based, end exclusive), or undefined where there is no such object. */
  getRange(path: string, start: number, end: number): Promise<Uint8Array | undefined>

  head(path: string): Promise<ObjectHead | undefined>

  /**
   * Writes or replaces, atomically for readers, durably when it resolves. Never used for commits.
   * `at-sync`, for an object of a new name that nothing names yet: durable once `sync` is told of it, and until then perhaps torn.
   */
  put(path: string, bytes: Uint8Array, durable?: 'now' | 'at-sync'): Promise<void>

  /**
   * Creates the object unless one is there; atomic between all processes, durable when `created`. `unknown`: storage did not say;
   * the object may appear now or later. Callers settle `unknown` by reading back, before anything else.
   */
  createIfAbsent(path: string, bytes: Uint8Array): Promise<CreateOutcome>

  /** Objects whose path starts with `prefix` (a folder prefix ends in `/`), sorted by path in code-unit order, after `after`. */
  list(prefix: string, options?: { readonly after?: string | undefined }): Promise<readonly ObjectEntry[]>

  /** Makes durable what a data plane wrote beside this store. Objects that `put` wrote need it only where it was told `at-sync`. */
  sync(paths: readonly string[]): Promise<void>

  /** Deletes; absent objects are no error. */
  delete(paths: readonly string[]): Promise<void>
}

export type CreateOutcome = 'created' | 'exists' | 'unknown'

export interface ObjectHead {
  readonly sizeBytes: number
  readonly modifiedMs: number
}

export interface ObjectEntry extends ObjectHead {
  readonly path: string
}

/** Two stores with the same are storage of one table. */
export function identityOf(store: ObjectStore): string {
  return store.identity?.() ?? store.root
}
