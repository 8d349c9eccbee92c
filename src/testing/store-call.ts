/** One call of an object store as data, and a store whose every call passes through one function: what faults and schedules share. */
import { type ObjectStore, identityOf } from '../ports/object-store.ts'

export type StoreMethod = 'get' | 'getRange' | 'head' | 'put' | 'createIfAbsent' | 'list' | 'sync' | 'delete'

export interface StoreCall {
  readonly method: StoreMethod
  /** The path, or the prefix of a list; several paths stand joined by commas. */
  readonly path: string
}

export type Intercept = <T>(call: StoreCall, run: () => Promise<T>) => Promise<T>

export function interceptedStore(inner: ObjectStore, intercept: Intercept): ObjectStore {
  return {
    root: inner.root,
    identity: () => identityOf(inner),
    locate: (path) => inner.locate(path),
    get: (path) => intercept({ method: 'get', path }, () => inner.get(path)),
    getRange: (path, start, end) => intercept({ method: 'getRange', path }, () => inner.getRange(path, start, end)),
    head: (path) => intercept({ method: 'head', path }, () => inner.head(path)),
    put: (path, bytes, durable) => intercept({ method: 'put', path }, () => inner.put(path, bytes, durable)),
    createIfAbsent: (path, bytes) =>
      intercept({ method: 'createIfAbsent', path }, () => inner.createIfAbsent(path, bytes)),
    list: (prefix, options) => intercept({ method: 'list', path: prefix }, () => inner.list(prefix, options)),
    sync: (paths) => intercept({ method: 'sync', path: paths.join(',') }, () => inner.sync(paths)),
    delete: (paths) => intercept({ method: 'delete', path: paths.join(',') }, () => inner.delete(paths)),
  }
}
