/** Turns Node's file-system errors into the failures that the store's contract names. */
import { failure } from '../../base/errors.ts'
import type { BraidlakeError } from '../../base/errors.ts'

/** The errno name (`ENOENT`), or an empty string for anything that is no system error. */
export function errnoOf(error: unknown): string {
  if (!(error instanceof Error) || !('code' in error)) return ''
  return typeof error.code === 'string' ? error.code : ''
}

export function isAbsent(error: unknown): boolean {
  const code = errnoOf(error)
  return code === 'ENOENT' || code === 'ENOTDIR'
}

const fullCodes: ReadonlySet<string> = new Set(['ENOSPC', 'EDQUOT', 'EFBIG'])

/** Codes with which file systems without hard links answer `link()`. */
const noLinkCodes: ReadonlySet<string> = new Set([
  'EPERM',
  'ENOTSUP',
  'EOPNOTSUPP',
  'ENOSYS',
  'EXDEV',
  'EISDIR',
  'EMLINK',
  'EINVAL',
])

export function cannotLink(error: unknown): boolean {
  return noLinkCodes.has(errnoOf(error))
}

/** Codes after which the operating system does not say whether the call took effect. */
export function isAmbiguous(error: unknown): boolean {
  const code = errnoOf(error)
  return code === 'EIO' || code === 'ETIMEDOUT' || code === 'ESTALE' || code === 'EINTR'
}

const mayNot = 'Give this process the right to it, or choose another path.'
const cures: ReadonlyMap<string, string> = new Map([
  ['EACCES', mayNot],
  ['EPERM', mayNot],
  ['EROFS', 'The file system is read-only: choose another path.'],
  ['ENOTDIR', 'A part of the path is a file: choose another path, or move the file away.'],
  ['ENOENT', 'A folder above it cannot be made there: choose another path.'],
  ['ENAMETOOLONG', 'Choose a shorter path.'],
  ['ELOOP', 'The symbolic links of the path lead in a circle: mend them.'],
])

export function storageFailure(verb: string, path: string, error: unknown): BraidlakeError {
  const errno = errnoOf(error)
  const details = { path, errno }
  if (fullCodes.has(errno)) {
    return failure('STORAGE_FULL', `cannot ${verb} ${path}: no space left (${errno})`, { details, cause: error })
  }
  return failure('STORAGE_UNAVAILABLE', `cannot ${verb} ${path}: ${errno || String(error)}`, {
    details,
    advice: cures.get(errno),
    cause: error,
  })
}
