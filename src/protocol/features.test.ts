import { describe, expect, test } from 'vitest'
import { goldenRoot } from '../../test/golden/golden-root.ts'
import { goldenCommits } from '../../test/golden/log-files.ts'
import { parseActions } from './action-codec.ts'
import type { Protocol } from './actions.ts'
import { columnInvariants, requiredFeatures } from './feature-uses.ts'
import { featureNames, isSupported, newProtocol, requireReadable, requireWritable, withFeatures } from './features.ts'
import type { StructField, StructType } from './types.ts'

const legacy = (minReaderVersion: number, minWriterVersion: number): Protocol => ({
  minReaderVersion,
  minWriterVersion,
})
const listed = (readerFeatures: string[], writerFeatures: string[]): Protocol => ({
  minReaderVersion: 3,
  minWriterVersion: 7,
  readerFeatures,
  writerFeatures,
})
const writerOnly = (...writerFeatures: string[]): Protocol => ({
  minReaderVersion: 1,
  minWriterVersion: 7,
  writerFeatures,
})

const field = (name: string, more: Partial<StructField> = {}): StructField => ({
  name,
  type: { kind: 'long' },
  nullable: true,
  metadata: {},
  ...more,
})
const struct = (...fields: StructField[]): StructType => ({ kind: 'struct', fields })
const plain = struct(field('id'))

describe('requireReadable', () => {
  const read = [
    'deletionVectors',
    'columnMapping',
    'timestampNtz',
    'typeWidening',
    'typeWidening-preview',
    'v2Checkpoint',
    'vacuumProtocolCheck',
  ]

  test.each<[string, Protocol]>([
    ['1/1', legacy(1, 1)],
    ['2/5', legacy(2, 5)],
    ['every feature that is read', listed(read, read)],
    ['the old name of timestampNtz', listed(['timestampWithoutTimezone'], ['timestampWithoutTimezone'])],
    [
      'unknown writer features',
      { minReaderVersion: 1, minWriterVersion: 7, writerFeatures: ['rowTracking', 'blahabl'] },
    ],
    ['a later writer version', legacy(1, 99)],
  ])('%s -> passes', (_, protocol) => {
    expect(() => requireReadable(protocol)).not.toThrow()
  })

  test('unknown features among known ones -> all missing ones named, in message and details', () => {
    const protocol = listed(['deletionVectors', 'variantType', 'blahabl', 'catalogManaged'], [])
    expect(() => requireReadable(protocol)).toThrow(
      expect.objectContaining({
        code: 'DELTA_UNSUPPORTED_FEATURES_FOR_READ',
        message: expect.stringContaining('variantType, blahabl, catalogManaged'),
        details: expect.objectContaining({ features: ['variantType', 'blahabl', 'catalogManaged'] }),
      }),
    )
  })

  test('a later reader version -> refused with the number', () => {
    expect(() => requireReadable(legacy(99, 7))).toThrow(/reader version 99/)
  })

  const changed = (fromType: string, toType: string): StructType =>
    struct(field('c', { metadata: { 'delta.typeChanges': [{ toType, fromType, tableVersion: 2 }] } }))
  const widening = listed(['typeWidening'], ['typeWidening'])

  test.each([
    ['byte', 'long'],
    ['integer', 'double'],
    ['float', 'double'],
    ['date', 'timestamp_ntz'],
    ['decimal(10,2)', 'decimal(20,5)'],
    ['long', 'decimal(21,1)'],
    ['byte', 'decimal(4,1)'],
  ])('a type change %s -> %s: passes', (from, to) => {
    expect(() => requireReadable(widening, changed(from, to))).not.toThrow()
  })

  test.each([
    ['long', 'integer'],
    ['long', 'double'],
    ['decimal(10,2)', 'decimal(11,5)'],
    ['integer', 'decimal(10,1)'],
    ['string', 'variant'],
    ['date', 'timestamp'],
  ])('a type change %s -> %s: refused with the column', (from, to) => {
    expect(() => requireReadable(widening, changed(from, to))).toThrow(
      expect.objectContaining({ details: expect.objectContaining({ typeChanges: [`c: ${from} -> ${to}`] }) }),
    )
  })

  test('an unknown type change where the protocol has no widening -> ignored', () => {
    expect(() => requireReadable(legacy(1, 2), changed('long', 'integer'))).not.toThrow()
  })
})

describe('requireWritable', () => {
  const written = [
    'appendOnly',
    'invariants',
    'deletionVectors',
    'timestampNtz',
    'columnMapping',
    'v2Checkpoint',
    'vacuumProtocolCheck',
    'domainMetadata',
  ]
  const unused = ['checkConstraints', 'generatedColumns', 'changeDataFeed', 'identityColumns', 'allowColumnDefaults']

  test.each<[string, Protocol]>([
    ['1/2', legacy(1, 2)],
    ['2/6 that uses nothing', legacy(2, 6)],
    ['every feature that is written', listed(['deletionVectors', 'columnMapping'], written)],
    ['features listed and unused', writerOnly(...unused)],
  ])('%s -> passes', (_, protocol) => {
    expect(() => requireWritable(protocol, plain, { 'delta.enableChangeDataFeed': 'false' })).not.toThrow()
  })

  const identity = struct(field('id', { metadata: { 'delta.identity.start': 1 } }))
  const generated = struct(
    field('a', {
      type: {
        kind: 'array',
        element: struct(field('g', { metadata: { 'delta.generationExpression': 'x' } })),
        containsNull: true,
      },
    }),
  )
  const defaulted = struct(field('d', { metadata: { CURRENT_DEFAULT: '1' } }))

  test.each<[string, StructType, Record<string, string>, number]>([
    ['checkConstraints', plain, { 'delta.constraints.c': 'id > 0' }, 3],
    ['changeDataFeed', plain, { 'delta.enableChangeDataFeed': 'True' }, 4],
    ['generatedColumns', generated, {}, 4],
    ['identityColumns', identity, {}, 6],
    ['allowColumnDefaults', defaulted, {}, 99],
  ])(
    '%s in use -> refused where the protocol has it, ignored where it has not',
    (name, schema, configuration, legacyWriter) => {
      const refused = expect.objectContaining({
        code: 'DELTA_UNSUPPORTED_FEATURES_FOR_WRITE',
        details: expect.objectContaining({ features: [name] }),
      })
      expect(() => requireWritable(writerOnly(name), schema, configuration)).toThrow(refused)
      expect(() => requireWritable(writerOnly('appendOnly'), schema, configuration)).not.toThrow()
      if (legacyWriter > 6) return
      expect(() => requireWritable(legacy(1, legacyWriter), schema, configuration)).toThrow(refused)
      expect(() => requireWritable(legacy(1, legacyWriter - 1), schema, configuration)).not.toThrow()
    },
  )

  test.each(['rowTracking', 'inCommitTimestamp', 'clustering', 'icebergCompatV1', 'checkpointProtection', 'blahabl'])(
    'writer feature %s -> refused by name',
    (name) => {
      expect(() => requireWritable(writerOnly('appendOnly', name), plain, {})).toThrow(
        expect.objectContaining({
          message: expect.stringContaining(name),
          details: expect.objectContaining({ features: [name] }),
        }),
      )
    },
  )

  test('type widening -> read, not written', () => {
    const protocol = listed(['typeWidening'], ['typeWidening'])
    expect(() => requireWritable(protocol, plain, {})).toThrow(
      expect.objectContaining({ code: 'DELTA_UNSUPPORTED_FEATURES_FOR_WRITE' }),
    )
  })

  test('an unreadable table -> refused as such', () => {
    const protocol = listed(['variantType'], ['variantType'])
    expect(() => requireWritable(protocol, plain, {})).toThrow(
      expect.objectContaining({ code: 'DELTA_UNSUPPORTED_FEATURES_FOR_READ' }),
    )
  })

  test('a later writer version -> refused with the number', () => {
    expect(() => requireWritable(legacy(1, 8), plain, {})).toThrow(/writer version 8/)
  })
})

test.each<[string, Protocol, boolean]>([
  ['columnMapping', legacy(1, 5), false],
  ['columnMapping', legacy(2, 5), true],
  ['columnMapping', { minReaderVersion: 2, minWriterVersion: 7, writerFeatures: ['columnMapping'] }, true],
  ['columnMapping', listed([], ['columnMapping']), false],
  ['deletionVectors', listed(['deletionVectors'], ['deletionVectors']), true],
  ['deletionVectors', legacy(2, 6), false],
  ['timestampNtz', listed(['timestampWithoutTimezone'], []), true],
  ['appendOnly', legacy(1, 1), false],
  ['appendOnly', legacy(1, 2), true],
  ['appendOnly', writerOnly(), false],
  ['blahabl', writerOnly('blahabl'), true],
])('%s of %j -> %s', (name, protocol, answer) => {
  expect(isSupported(protocol, name)).toBe(answer)
})

test.each<[string[], Protocol]>([
  [[], legacy(1, 2)],
  [['appendOnly', 'invariants'], legacy(1, 2)],
  [['columnMapping'], legacy(2, 5)],
  [['domainMetadata'], writerOnly('domainMetadata')],
  [['deletionVectors', 'appendOnly'], listed(['deletionVectors'], ['deletionVectors', 'appendOnly'])],
  [
    ['columnMapping', 'domainMetadata'],
    { minReaderVersion: 2, minWriterVersion: 7, writerFeatures: ['columnMapping', 'domainMetadata'] },
  ],
])('newProtocol(%j) -> the lowest that has them', (names, protocol) => {
  expect(newProtocol(names)).toEqual(protocol)
})

describe('withFeatures', () => {
  test.each<[string, Protocol, string[], Protocol]>([
    [
      'a 1/2 table',
      legacy(1, 2),
      ['deletionVectors'],
      listed(['deletionVectors'], ['appendOnly', 'invariants', 'deletionVectors']),
    ],
    ['a 1/1 table', legacy(1, 1), ['deletionVectors'], listed(['deletionVectors'], ['deletionVectors'])],
    [
      'a 2/6 table',
      legacy(2, 6),
      ['deletionVectors'],
      listed(
        ['columnMapping', 'deletionVectors'],
        [
          'appendOnly',
          'invariants',
          'checkConstraints',
          'changeDataFeed',
          'generatedColumns',
          'columnMapping',
          'identityColumns',
          'deletionVectors',
        ],
      ),
    ],
    [
      'a 1/7 table',
      writerOnly('appendOnly'),
      ['deletionVectors'],
      listed(['deletionVectors'], ['appendOnly', 'deletionVectors']),
    ],
    [
      'a table with the old name of timestampNtz',
      listed(['timestampWithoutTimezone'], ['timestampWithoutTimezone']),
      ['deletionVectors'],
      listed(['timestampNtz', 'deletionVectors'], ['timestampNtz', 'deletionVectors']),
    ],
    ['old numbers that suffice', legacy(1, 2), ['columnMapping'], legacy(2, 5)],
    [
      'a writer feature without old number',
      legacy(1, 2),
      ['domainMetadata'],
      writerOnly('appendOnly', 'invariants', 'domainMetadata'),
    ],
  ])('%s -> lists everything the numbers implied', (_, protocol, names, raised) => {
    expect(withFeatures(protocol, names)).toEqual(raised)
    expect(featureNames(raised)).toEqual(expect.arrayContaining(names))
  })

  test('a table that has them -> the same protocol', () => {
    const protocol = listed(['deletionVectors'], ['deletionVectors', 'rowTracking'])
    expect(withFeatures(protocol, ['deletionVectors'])).toBe(protocol)
  })
})

test.each<[string, StructType, Record<string, string>, string[]]>([
  ['nothing special', plain, {}, []],
  ['NOT NULL', struct(field('a', { nullable: false })), {}, ['invariants']],
  [
    'timestamp_ntz in a map',
    struct(
      field('a', {
        type: { kind: 'map', key: { kind: 'string' }, value: { kind: 'timestamp_ntz' }, valueContainsNull: true },
      }),
    ),
    {},
    ['timestampNtz'],
  ],
  [
    'properties',
    plain,
    { 'delta.appendOnly': 'true', 'delta.enableDeletionVectors': 'true' },
    ['appendOnly', 'deletionVectors'],
  ],
  [
    'v2 checkpoints and mapping',
    plain,
    { 'delta.checkpointPolicy': 'v2', 'delta.columnMapping.mode': 'id' },
    ['columnMapping', 'v2Checkpoint'],
  ],
])('%s -> the features a new table needs', (_, schema, configuration, names) => {
  expect(requiredFeatures(schema, configuration)).toEqual(names)
})

describe('columnInvariants', () => {
  test('an expression on a nested field -> found with its path', () => {
    const inner = field('b', { metadata: { 'delta.invariants': '{"expression":{"expression":"b > 3"}}' } })
    expect(columnInvariants(struct(field('a', { type: struct(inner) })))).toEqual([
      { column: ['a', 'b'], expression: 'b > 3' },
    ])
  })

  test.each(['{', '{"expression":7}', '{}', '"x"'])('%s -> DELTA_LOG_CORRUPT', (text) => {
    const schema = struct(field('a', { metadata: { 'delta.invariants': text } }))
    expect(() => columnInvariants(schema)).toThrow(expect.objectContaining({ code: 'DELTA_LOG_CORRUPT' }))
  })
})

test.skipIf(goldenRoot() === undefined)(
  'every golden protocol -> read, or refused for a feature outside the list',
  () => {
    const refused = new Set<string>()
    for (const { text } of goldenCommits()) {
      for (const action of parseActions(text)) {
        if (action.kind !== 'protocol') continue
        try {
          requireReadable(action.protocol)
        } catch (error) {
          const { features, minReaderVersion } = (
            error as { details: { features: string[]; minReaderVersion: number } }
          ).details
          for (const name of features) refused.add(name)
          if (features.length === 0) refused.add(`version ${minReaderVersion}`)
        }
      }
    }
    expect([...refused].toSorted()).toMatchInlineSnapshot(`
    [
      "blahabl",
      "catalogManaged",
      "geospatial",
      "variantShredding-preview",
      "variantType",
      "variantType-preview",
      "version 99",
    ]
  `)
  },
)
