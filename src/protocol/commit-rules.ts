/**
 * What every commit must hold before it is written; a breach is a defect of ours, so it is asserted. Source: PROTOCOL.md, "Action
 * Reconciliation": no two actions of one commit may stand for the same thing.
 */
import { assert, unreachable } from '../base/assert.ts'
import type { Action, AddFile, RemoveFile } from './actions.ts'
import { deletionVectorId } from './deletion-vector.ts'

/** Throws AssertionFailure where the actions do not form a valid commit. Cost: one pass. */
export function checkCommit(actions: readonly Action[]): void {
  const seen = new Set<string>()
  const adds = new Map<string, AddFile>()
  const removes = new Map<string, RemoveFile>()
  const once = (key: string, what: string): void => {
    assert(!seen.has(key), () => `INV-3 a commit holds ${what} twice`)
    seen.add(key)
  }
  for (const action of actions) {
    switch (action.kind) {
      case 'protocol':
      case 'metaData':
      case 'commitInfo':
        once(action.kind, action.kind)
        break
      case 'txn':
        once(`txn ${action.txn.appId}`, `the transaction of application ${action.txn.appId}`)
        break
      case 'domainMetadata':
        once(`domain ${action.domainMetadata.domain}`, `domain ${action.domainMetadata.domain}`)
        break
      case 'add':
        once(`add ${action.add.path}`, `the add of ${action.add.path}`)
        checkAdd(action.add)
        adds.set(action.add.path, action.add)
        break
      case 'remove':
        once(`remove ${action.remove.path}`, `the remove of ${action.remove.path}`)
        removes.set(action.remove.path, action.remove)
        break
      case 'cdc':
        once(`cdc ${action.cdc.path}`, `the change file ${action.cdc.path}`)
        break
      default:
        unreachable(action)
    }
  }
  checkPairs(adds, removes)
}

/** A file with a vector must say how many physical rows it has, or no reader could count it. */
function checkAdd(add: AddFile): void {
  assert(add.path !== '', 'an add has no path')
  assert(
    Object.values(add.partitionValues).every((value) => value !== ''),
    () => `${add.path} has an empty partition value, which is NULL`,
  )
  const { deletionVector, stats } = add
  if (deletionVector === undefined) return
  assert(deletionVector.cardinality > 0, () => `INV-5 ${add.path} has a deletion vector that deletes nothing`)
  assert(stats?.includes('"numRecords"') ?? false, () => `INV-5 ${add.path} has a deletion vector and no row count`)
}

/** Removing and adding one path replaces its deletion vector; with the same vector nothing would be known of the order. */
function checkPairs(adds: ReadonlyMap<string, AddFile>, removes: ReadonlyMap<string, RemoveFile>): void {
  for (const [path, remove] of removes) {
    const add = adds.get(path)
    if (add === undefined) continue
    const isSame = deletionVectorId(add.deletionVector) === deletionVectorId(remove.deletionVector)
    assert(!isSame, () => `INV-3 a commit adds and removes ${path} with the same deletion vector`)
  }
}
