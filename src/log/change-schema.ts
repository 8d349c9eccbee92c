/**
 * Whether files written under an earlier schema can be read under a later one without a change showing as something else. Only what adds
 * is: new columns and fields, and wider types. A column that went, was renamed or is partitioned by or no longer is refused by name.
 */
import type { TableColumn } from '../protocol/column-mapping.ts'
import { physicalFieldName } from '../protocol/column-mapping.ts'
import { isWidening } from '../protocol/type-widening.ts'
import type { DataType } from '../protocol/types.ts'

/** What keeps the rows of the earlier columns from being read as the later ones, in words; undefined: nothing. */
export function schemaObstacle(earlier: readonly TableColumn[], later: readonly TableColumn[]): string | undefined {
  const byPhysicalName = new Map(later.map((column) => [column.physicalName, column]))
  for (const column of earlier) {
    const now = byPhysicalName.get(column.physicalName)
    if (now === undefined) return `column ${column.name} was dropped`
    if (now.name !== column.name) return `column ${column.name} was renamed to ${now.name}`
    if (now.isPartition !== column.isPartition) return `the partitioning by column ${column.name} changed`
    const place = typeObstacle(column.type, now.type, column.name)
    if (place !== undefined) return place
  }
  return undefined
}

function typeObstacle(earlier: DataType, later: DataType, path: string): string | undefined {
  if (earlier.kind === 'struct' && later.kind === 'struct') {
    for (const field of earlier.fields) {
      const inner = `${path}.${field.name}`
      const now = later.fields.find((candidate) => physicalFieldName(candidate) === physicalFieldName(field))
      if (now === undefined) return `field ${inner} was dropped`
      if (now.name !== field.name) return `field ${inner} was renamed to ${now.name}`
      const place = typeObstacle(field.type, now.type, inner)
      if (place !== undefined) return place
    }
    return undefined
  }
  if (earlier.kind === 'array' && later.kind === 'array')
    return typeObstacle(earlier.element, later.element, `${path}.element`)
  if (earlier.kind === 'map' && later.kind === 'map') {
    return (
      typeObstacle(earlier.key, later.key, `${path}.key`) ?? typeObstacle(earlier.value, later.value, `${path}.value`)
    )
  }
  const isSame = earlier.kind === 'decimal' ? isSameDecimal(earlier, later) : earlier.kind === later.kind
  if (isSame || earlier.kind === 'void' || isWidening(earlier, later)) return undefined
  return `column ${path} changed from ${earlier.kind} to ${later.kind}`
}

function isSameDecimal(a: Extract<DataType, { kind: 'decimal' }>, b: DataType): boolean {
  return b.kind === 'decimal' && a.precision === b.precision && a.scale === b.scale
}
