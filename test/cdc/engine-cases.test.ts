/** Named cases through the engine on both planes: worked examples, what users reported, and what Spark's own AUTO CDC gave. */
import { describe, expect, test } from 'vitest'
import type { CdcEvent } from '../../src/cdc/event.ts'
import type { CdcHistory } from '../../src/testing/cdc-histories.ts'
import { prefixesOf } from '../../src/testing/cdc-histories.ts'
import type { DataType, StructField } from '../../src/protocol/types.ts'
import { goldenRoot } from '../golden/golden-root.ts'
import { expectTruth } from './engine-truth.ts'
import { type World, duckdbWorld, flowFor, memoryWorld, rowsOf } from './engine-world.ts'
import { type FieldCase, fieldCases } from './field-cases.ts'
import * as spark from './golden-spark.ts'
import { type WorkedExample, workedExamples } from './worked-examples.ts'

const field = (name: string, type: DataType): StructField => ({ name, type, nullable: true, metadata: {} })

const planes = [
  ['memory', memoryWorld],
  ['duckdb', duckdbWorld],
] as const

interface Case {
  readonly history: CdcHistory
  readonly refused: string | undefined
  readonly partitionBy?: readonly string[] | undefined
}

/** Every batch applied, target and state compared after each; a batch that is to be refused leaves both as they were. */
async function play(world: World, { history, refused, partitionBy }: Case, type: 1 | 2): Promise<void> {
  const flow = world.flow(flowFor(history, type, partitionBy === undefined ? {} : { partitionBy }))
  const last = history.batches.length - 1
  try {
    for (const [index, batch] of history.batches.entries()) {
      const applied = flow.apply(rowsOf(history, batch), {
        after: index === 0 ? undefined : String(index - 1),
        offset: String(index),
      })
      const isRefused = refused !== undefined && index === last
      if (isRefused) {
        await expect(applied).rejects.toMatchObject({
          code: 'AUTOCDC_MICROBATCH_VALIDATION',
          details: { reason: refused },
        })
      } else expect((await applied).kind).toBe('committed')
      const soFar = prefixesOf(history)[isRefused ? index - 1 : index]
      if (soFar !== undefined) await expectTruth(world, history, soFar, type, `batch ${index}`)
    }
  } finally {
    world.drop()
  }
}

function historyOf(
  schema: CdcHistory['schema'],
  names: { readonly keys: readonly string[]; readonly sequence: string; readonly payload: readonly string[] },
  batches: readonly (readonly CdcEvent[])[],
): CdcHistory {
  const { keyTypes, sequenceType, payloadTypes } = schema
  const isPartial = batches.some((batch) => batch.some(({ authored }) => authored !== undefined))
  const typed = (columns: readonly string[], types: readonly DataType[]) =>
    columns.map((name, place) => field(name, types[place] ?? { kind: 'void' }))
  return {
    schema,
    keyFields: typed(names.keys, keyTypes),
    sequenceField: field(names.sequence, sequenceType),
    payloadFields: typed(names.payload, payloadTypes),
    partialUpdates: isPartial ? 'ignoreNull' : 'none',
    batches: batches.map((events) => ({ events, truncates: [] })),
  }
}

const workedCase = ({ schema, batches, refused }: WorkedExample): Case => ({
  history: historyOf(schema, { keys: ['k'], sequence: 'seq', payload: ['name', 'detail'] }, batches),
  refused,
})

const reportedCase = ({ schema, columns, batches, refused, options }: FieldCase): Case => ({
  history: historyOf(schema, columns, batches),
  refused,
  partitionBy: options.partitionBy,
})

describe.each(planes)('on the %s plane', (_plane, worldOf) => {
  describe.each([1, 2] as const)('type %i', (type) => {
    test.each(workedExamples.map((example) => [example.id, example.what, example] as const))(
      'example %s: %s',
      (_id, _what, example) => play(worldOf(), workedCase(example), type),
    )

    test.each(fieldCases.map((one) => [one.id, one.what, one] as const))('%s: %s', (_id, _what, one) =>
      play(worldOf(), reportedCase(one), type),
    )
  })
})

const root = goldenRoot()

// Without the recorded tables the oracle's own test says that they are missed; in CI it fails.
describe.skipIf(root === undefined)("what Spark's own AUTO CDC gave", () => {
  const histories = (['scenarios', 'random'] as const)
    .flatMap((file) => (root === undefined ? [] : spark.sparkHistories(root, file)))
    .filter((history) => !spark.isTied(history))

  test.each(planes)('every recorded history, on the %s plane', async (_plane, worldOf) => {
    // One key a line: all of them together are one history of many keys.
    const batches = [0, 1, 2, 3].map((batch) =>
      histories.flatMap(({ key, batches: own }) =>
        (own[batch] ?? []).map((event) => ({ ...spark.sparkEvent(event, false), key: [key] })),
      ),
    )
    const history = historyOf(spark.sparkSchema, { keys: ['k'], sequence: 'seq', payload: ['name', 'e'] }, batches)
    await play(worldOf(), { history, refused: undefined }, 2)
    await play(worldOf(), { history, refused: undefined }, 1)
  })
})
