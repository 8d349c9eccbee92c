/** Arrays and maps. */
import type { Datum } from '../protocol/datum.ts'
import { equality } from './compare.ts'
import type { CallSite, Strict } from './call-site.ts'

export function evaluateCollection(site: CallSite): Strict | undefined {
  const type = site.expr.args[0]?.type
  switch (site.expr.name) {
    case 'size':
      return (a) => (a as readonly Datum[]).length
    case 'index':
      return type?.kind === 'map'
        ? lookUp(equality(type.key))
        : (a, b) => element(site, a as readonly Datum[], Number(b))
    case 'element_at':
      return type?.kind === 'map' ? lookUp(equality(type.key)) : elementAt(site)
    case 'array_join':
      return (a, b) => (a as readonly Datum[]).filter((item) => item !== null).join(b as string)
    case 'array_contains': {
      const equal = equality(site.expr.args[1]?.type ?? site.expr.type)
      return (a, b) => {
        const items = a as readonly Datum[]
        if (items.some((item) => item !== null && equal(item, b))) return true
        return items.includes(null) ? null : false
      }
    }
    default:
      return undefined
  }
}

const lookUp =
  (equal: (a: Datum, b: Datum) => boolean): Strict =>
  (a, b) => {
    for (const entry of a as readonly (readonly Datum[])[]) {
      const [key = null, value = null] = entry
      if (key !== null && equal(key, b)) return value
    }
    return null
  }

function element(site: CallSite, items: readonly Datum[], place: number): Datum {
  const value = items[place]
  return place < 0 || value === undefined
    ? site.fail(`the array has ${items.length} elements, and none at ${place}`)
    : value
}

function elementAt(site: CallSite): Strict {
  return (a, b) => {
    const items = a as readonly Datum[]
    const place = Number(b)
    if (place === 0) return site.fail('places count from 1')
    return element(site, items, place > 0 ? place - 1 : place < -items.length ? items.length : items.length + place)
  }
}
