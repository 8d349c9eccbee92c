/** The output columns of a relation, in order: names and types follow from the tree alone. */
import { assert, unreachable } from '../base/assert.ts'
import type { Relation, RelationColumn } from './tree.ts'

export function relationColumns(relation: Relation): readonly RelationColumn[] {
  switch (relation.kind) {
    case 'scan': {
      const columns: RelationColumn[] = relation.columns.map(({ name, type }) => ({ name, type }))
      if (relation.locator === undefined) return columns
      const { file, position } = relation.locator
      return [...columns, { name: file, type: { kind: 'integer' } }, { name: position, type: { kind: 'double' } }]
    }
    case 'staged': {
      const columns: RelationColumn[] = relation.columns.map(({ name, type }) => ({ name, type }))
      return relation.rowNumber === undefined
        ? columns
        : [...columns, { name: relation.rowNumber, type: { kind: 'integer' } }]
    }
    case 'rows':
      return relation.columns
    case 'filter':
    case 'sort':
    case 'limit':
      return relationColumns(relation.input)
    case 'project':
      return relation.columns.map(({ name, value }) => ({ name, type: value.type }))
    case 'join': {
      const left = relationColumns(relation.left)
      return relation.join === 'inner' || relation.join === 'left'
        ? [...left, ...relationColumns(relation.right)]
        : left
    }
    case 'aggregate':
      return [
        ...relation.groupBy.map(({ name, value }) => ({ name, type: value.type })),
        ...relation.aggregates.map(({ name, type }) => ({ name, type })),
      ]
    case 'window':
      return [
        ...relationColumns(relation.input),
        ...relation.columns.map(({ name, call }) => ({ name, type: call.type })),
      ]
    case 'union': {
      const [first] = relation.inputs
      assert(first !== undefined, 'a union has at least one input')
      return relationColumns(first)
    }
    default:
      return unreachable(relation)
  }
}
