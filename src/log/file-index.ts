/** The live files of one snapshot. Nobody outside holds all of them as a list unless a statement really needs every file. */
import type { AddFile } from '../protocol/actions.ts'
import type { PersistentMap } from './persistent-map.ts'

export interface FileIndex {
  /** Live files. */
  readonly count: number
  get(path: string): AddFile | undefined
  /** In the order in which the log first named them. */
  [Symbol.iterator](): Iterator<AddFile>
  /** The files that `keep` accepts, in iteration order. */
  prune(keep: (file: AddFile) => boolean): AddFile[]
}

/** An index held in memory, by path. */
export class MemoryFileIndex implements FileIndex {
  readonly byPath: PersistentMap<AddFile>

  constructor(byPath: PersistentMap<AddFile>) {
    this.byPath = byPath
  }

  get count(): number {
    return this.byPath.size
  }

  get(path: string): AddFile | undefined {
    return this.byPath.get(path)
  }

  [Symbol.iterator](): Iterator<AddFile> {
    return this.byPath.values()
  }

  prune(keep: (file: AddFile) => boolean): AddFile[] {
    const kept: AddFile[] = []
    for (const file of this.byPath.values()) {
      if (keep(file)) kept.push(file)
    }
    return kept
  }
}
