/** Values under the names that files use: nested fields of a mapped table are renamed to their physical names. */
import type { DataType } from '../../protocol/types.ts'
import { quoteName, quoteText } from './quote.ts'
import { fieldName } from './types.ts'

export function physicalValue(input: string, type: DataType, depth = 0): string {
  if (!isRenamed(type)) return input
  const item = `p${depth}`
  switch (type.kind) {
    case 'struct': {
      const fields = type.fields.map((field) => {
        const value = physicalValue(`struct_extract(${input}, ${quoteText(field.name)})`, field.type, depth)
        return `${quoteName(fieldName(field, 'physical'))} := ${value}`
      })
      return `CASE WHEN ${input} IS NULL THEN NULL ELSE struct_pack(${fields.join(', ')}) END`
    }
    case 'array':
      return `list_transform(${input}, lambda ${item}: ${physicalValue(item, type.element, depth + 1)})`
    case 'map': {
      const key = physicalValue(`struct_extract(${item}, 'key')`, type.key, depth + 1)
      const value = physicalValue(`struct_extract(${item}, 'value')`, type.value, depth + 1)
      const entries = `list_transform(map_entries(${input}), lambda ${item}: struct_pack("key" := ${key}, "value" := ${value}))`
      return `map_from_entries(${entries})`
    }
    default:
      return input
  }
}

function isRenamed(type: DataType): boolean {
  switch (type.kind) {
    case 'struct':
      return type.fields.some((field) => fieldName(field, 'physical') !== field.name || isRenamed(field.type))
    case 'array':
      return isRenamed(type.element)
    case 'map':
      return isRenamed(type.key) || isRenamed(type.value)
    default:
      return false
  }
}
