/** Packages that only some sources need: they are loaded when such a source is first used, and an error says what to install. */
import { failure } from '../../base/errors.ts'

/**
 * @param load imports the package
 * @throws SOURCE_FAILED when the package is not installed
 */
export async function loadPackage<T>(
  source: string,
  name: string,
  version: string,
  load: () => Promise<T>,
): Promise<T> {
  try {
    return await load()
  } catch (cause) {
    if (!isMissing(cause)) throw cause
    throw failure('SOURCE_FAILED', `${source} needs the package ${name}, which is not installed`, {
      details: { source, package: name, version },
      advice: `Install it: npm install ${name}@${version}`,
      cause,
    })
  }
}

function isMissing(error: unknown): boolean {
  const code: unknown = error instanceof Error && 'code' in error ? error.code : undefined
  return code === 'ERR_MODULE_NOT_FOUND' || code === 'MODULE_NOT_FOUND'
}
