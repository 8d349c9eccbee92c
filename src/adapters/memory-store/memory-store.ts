import type { CreateOutcome, ObjectEntry, ObjectStore } from '../../ports/object-store.ts'

interface StoredObject {
  readonly bytes: Uint8Array
  readonly modifiedMs: number
}

export interface MemoryStore extends ObjectStore {
  /** Sets an object's modification time, milliseconds UTC. */
  touch(path: string, modifiedMs: number): void
}

export interface MemoryStoreOptions {
  /** Clock for modification times, milliseconds UTC; the machine's where absent. */
  readonly nowMs?: (() => number) | undefined
}

const named = new Map<string, MemoryStore>()
/** Unnamed stores are found by location too, for as long as somebody holds them. */
const unnamed = new Map<string, WeakRef<MemoryStore>>()
const forgotten = new FinalizationRegistry<string>((name) => unnamed.delete(name))
let unnamedCount = 0

const scheme = 'memory://'

/** A table in this process' memory, atomic in every call. The same name is the same store; without a name it is a new one. */
export function memoryStore(name?: string, options: MemoryStoreOptions = {}): MemoryStore {
  if (name !== undefined) {
    const known = named.get(name)
    if (known !== undefined) return known
    const store = createStore(name, options)
    named.set(name, store)
    return store
  }
  unnamedCount += 1
  const ownName = `unnamed-${unnamedCount}`
  const store = createStore(ownName, options)
  unnamed.set(ownName, new WeakRef(store))
  forgotten.register(store, ownName)
  return store
}

/** Forgets a named store: the next use of the name starts empty. */
export function dropMemoryStore(name: string): void {
  named.delete(name)
}

/** The store and the path within it that a location from `locate` means; undefined where it is none, or the store is gone. */
export function findMemoryObject(location: string): { readonly store: MemoryStore; readonly path: string } | undefined {
  if (!location.startsWith(scheme)) return undefined
  const rest = location.slice(scheme.length)
  const slash = rest.indexOf('/')
  const name = decodeURIComponent(slash < 0 ? rest : rest.slice(0, slash))
  const store = named.get(name) ?? unnamed.get(name)?.deref()
  return store === undefined ? undefined : { store, path: slash < 0 ? '' : rest.slice(slash + 1) }
}

function createStore(name: string, options: MemoryStoreOptions): MemoryStore {
  const objects = new Map<string, StoredObject>()
  const root = scheme + encodeURIComponent(name)
  const nowMs = options.nowMs ?? (() => Date.now())
  const keyOf = (path: string): string => (path.startsWith(`${root}/`) ? path.slice(root.length + 1) : path)
  const store = (path: string, bytes: Uint8Array): void => {
    objects.set(keyOf(path), { bytes: bytes.slice(), modifiedMs: nowMs() })
  }
  return {
    root,
    locate: (path) => (path.startsWith(scheme) ? path : `${root}/${path}`),
    get: async (path) => objects.get(keyOf(path))?.bytes.slice(),
    getRange: async (path, start, end) => objects.get(keyOf(path))?.bytes.slice(start, end),
    head: async (path) => {
      const found = objects.get(keyOf(path))
      return found === undefined ? undefined : { sizeBytes: found.bytes.length, modifiedMs: found.modifiedMs }
    },
    put: async (path, bytes) => store(path, bytes),
    createIfAbsent: async (path, bytes): Promise<CreateOutcome> => {
      if (objects.has(keyOf(path))) return 'exists'
      store(path, bytes)
      return 'created'
    },
    list: async (prefix, listOptions) => listObjects(objects, prefix, listOptions?.after),
    sync: async () => {},
    delete: async (paths) => {
      for (const path of paths) objects.delete(keyOf(path))
    },
    touch: (path, modifiedMs) => {
      const found = objects.get(keyOf(path))
      if (found !== undefined) objects.set(keyOf(path), { bytes: found.bytes, modifiedMs })
    },
  }
}

function listObjects(
  objects: ReadonlyMap<string, StoredObject>,
  prefix: string,
  after: string | undefined,
): readonly ObjectEntry[] {
  const found: ObjectEntry[] = []
  for (const [path, object] of objects) {
    if (!path.startsWith(prefix) || (after !== undefined && path <= after)) continue
    found.push({ path, sizeBytes: object.bytes.length, modifiedMs: object.modifiedMs })
  }
  return found.sort((a, b) => (a.path < b.path ? -1 : a.path > b.path ? 1 : 0))
}
