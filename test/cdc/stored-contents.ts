/**
 * What a world in memory holds, as one text. Two worlds of the same text differ in times and in which random ids they drew, and in nothing a
 * process that comes later could go by: what it makes of one, it makes of the other.
 */
import { dataFile, filesIn } from '../../src/testing/memory-plane/data-files.ts'
import type { World } from './engine-world.ts'

const uuid = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g
/** Of our years, in milliseconds. */
const time = /\b(?:1[6-9]|2\d)\d{11}\b/g

async function storedContents({ target, state, quarantine }: World): Promise<string> {
  const parts: string[] = []
  for (const { log } of [target, state, quarantine]) {
    const { root, list, get } = log.store
    for (const { path } of await list('')) {
      // A checkpoint says what the commits say.
      parts.push(path, path.endsWith('.json') ? new TextDecoder().decode(await get(path)) : '')
    }
    for (const location of filesIn(root)) parts.push(location.slice(root.length), rowsText(location))
    parts.push('---')
  }
  const ids = new Map<string, number>()
  const numberOf = (id: string): string => {
    const number = ids.get(id) ?? ids.size
    ids.set(id, number)
    return `id-${number}`
  }
  return parts.join('\n').replaceAll(uuid, numberOf).replaceAll(time, 'time')
}

const rowsText = (location: string): string =>
  JSON.stringify(dataFile(location).rows, (_, value: unknown) => (typeof value === 'bigint' ? `${value}n` : value))

/** Tells of each world whether it is the first that holds what it holds: a later process is tried on one of each. */
export function firstOfItsContents(): (world: World) => Promise<boolean> {
  const known = new Set<string>()
  return async (world) => {
    const count = known.size
    return known.add(await storedContents(world.again())).size > count
  }
}
