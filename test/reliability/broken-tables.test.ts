/** Tables that break the protocol, or were broken from outside: a typed error for readers and writers, and nothing is written. */
import { readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { ErrorCode } from '../../src/base/errors.ts'
import { DeltaTable } from '../../src/index.ts'
import { inlineDescriptor } from '../../src/protocol/deletion-vector.ts'
import { rowPositions } from '../../src/protocol/row-positions.ts'
import type { DeltaTable as Table } from '../../src/table/delta-table.ts'
import { checkForm, errorOf, good, newTable, on, picture, plane, rowsOf } from './ground.ts'

const invariant = JSON.stringify({ expression: { expression: 'small < 10' } })

test.each<[string, (table: Table) => unknown]>([
  ['append', (t) => t.append([{ ...good, small: 11 }])],
  ['update', (t) => t.update({ small: '11' }, { where: 'id = 1' })],
  [
    'merge',
    (t) =>
      t
        .merge([{ id: 1, small: 11 }], on)
        .whenMatched()
        .update({ small: 's.small' })
        .execute(),
  ],
])('%s against an invariant -> DELTA_VIOLATE_CONSTRAINT_WITH_VALUES with the row', async (_name, run) => {
  const made = await newTable()
  editLog(made.path, 0, (line) =>
    line.replace(
      /(\\"name\\":\\"small\\",\\"type\\":\\"integer\\",\\"nullable\\":true,\\"metadata\\":\{)\}/,
      (_all, head: string) =>
        `${head}${JSON.stringify(JSON.stringify({ 'delta.invariants': invariant })).slice(2, -2)}}`,
    ),
  )
  const table = await DeltaTable.open(made.path, { plane })
  const before = picture(table.path)
  const error = await errorOf(() => run(table))
  checkForm(error, 'DELTA_VIOLATE_CONSTRAINT_WITH_VALUES', /small < 10/)
  expect(error.details['row']).toMatchObject({ small: 11 })
  expect(picture(table.path)).toEqual(before)
})

const logFile = (path: string, version: number) => join(path, '_delta_log', `${String(version).padStart(20, '0')}.json`)

function editLog(path: string, version: number, change: (line: string) => string): void {
  const file = logFile(path, version)
  const before = readFileSync(file, 'utf8')
  const after = before.split('\n').map(change).join('\n')
  if (after === before) throw new Error('the edit changed nothing')
  writeFileSync(file, after)
}

const filesIn = (path: string, ending: string) =>
  readdirSync(path)
    .filter((name) => name.endsWith(ending))
    .map((name) => join(path, name))

interface Damage {
  readonly name: string
  readonly code: ErrorCode
  readonly says: RegExp
  prepare?(table: Table): Promise<unknown>
  damage(path: string): void
  /** Broken only for those who write. */
  readonly writesOnly?: true
}

const withVectorFile = async (table: Table) => {
  await table.append(Array.from({ length: 6000 }, (_, id) => ({ id: id + 10, name: 'v' })))
  await table.delete('id >= 10 AND id % 2 = 0')
}

const damageVector = (change: (bytes: Buffer) => Buffer | undefined) => (path: string) => {
  const [file] = filesIn(path, '.bin')
  if (file === undefined) throw new Error('the table has no vector file')
  const changed = change(readFileSync(file))
  if (changed === undefined) rmSync(file)
  else writeFileSync(file, changed)
}

const protocolWith = (features: object) => (line: string) =>
  line.startsWith('{"protocol"') ? JSON.stringify({ protocol: features }) : line

const damages: readonly Damage[] = [
  {
    name: 'a gap in the log',
    code: 'DELTA_LOG_GAP',
    says: /1/,
    prepare: (t) => t.append([good]),
    damage: (path) => rmSync(logFile(path, 1)),
  },
  {
    name: 'a commit that is cut short',
    code: 'DELTA_LOG_CORRUPT',
    says: /00001\.json/,
    damage: (path) => writeFileSync(logFile(path, 1), readFileSync(logFile(path, 1)).subarray(0, 90)),
  },
  {
    name: 'an unknown reader feature',
    code: 'DELTA_UNSUPPORTED_FEATURES_FOR_READ',
    says: /timeMachine/,
    damage: (path) =>
      editLog(
        path,
        0,
        protocolWith({
          minReaderVersion: 3,
          minWriterVersion: 7,
          readerFeatures: ['timeMachine'],
          writerFeatures: ['timeMachine'],
        }),
      ),
  },
  {
    name: 'a reader version to come',
    code: 'DELTA_UNSUPPORTED_FEATURES_FOR_READ',
    says: /9/,
    damage: (path) => editLog(path, 0, protocolWith({ minReaderVersion: 9, minWriterVersion: 9 })),
  },
  {
    name: 'an unknown writer feature',
    code: 'DELTA_UNSUPPORTED_FEATURES_FOR_WRITE',
    says: /timeMachine/,
    writesOnly: true,
    damage: (path) =>
      editLog(path, 0, protocolWith({ minReaderVersion: 1, minWriterVersion: 7, writerFeatures: ['timeMachine'] })),
  },
  {
    name: 'a missing vector file',
    code: 'DELTA_DELETION_VECTOR_CORRUPT',
    says: /\.bin/,
    prepare: withVectorFile,
    damage: damageVector(() => undefined),
  },
  {
    name: 'a flipped byte in a vector',
    code: 'DELTA_DELETION_VECTOR_CORRUPT',
    says: /./,
    prepare: withVectorFile,
    damage: damageVector((bytes) => Buffer.from(bytes.map((byte, at) => (at === 200 ? byte ^ 1 : byte)))),
  },
  {
    name: 'a vector file cut short',
    code: 'DELTA_DELETION_VECTOR_CORRUPT',
    says: /./,
    prepare: withVectorFile,
    damage: damageVector((bytes) => bytes.subarray(0, bytes.length - 40)),
  },
  {
    name: 'an empty vector file',
    code: 'DELTA_DELETION_VECTOR_CORRUPT',
    says: /./,
    prepare: withVectorFile,
    damage: damageVector(() => Buffer.alloc(0)),
  },
  {
    name: 'a vector with another count than the log says',
    code: 'DELTA_DELETION_VECTOR_CORRUPT',
    says: /./,
    prepare: withVectorFile,
    damage: (path) => editLog(path, 3, (line) => line.replace(/"cardinality":\d+/, '"cardinality":7')),
  },
  {
    name: 'a vector that names rows beyond the file',
    code: 'DELTA_DELETION_VECTOR_CORRUPT',
    says: /parquet/,
    prepare: (t) => t.delete('id = 1'),
    damage: (path) =>
      editLog(path, 2, (line) => {
        if (!line.startsWith('{"add"')) return line
        // Parsed, for the text of a vector's place may hold any brace.
        const action = JSON.parse(line)
        action.add.deletionVector = inlineDescriptor(rowPositions([1, 99]))
        return JSON.stringify(action)
      }),
  },
  {
    name: 'a missing data file',
    code: 'DELTA_DATA_FILE_MISSING',
    says: /parquet/,
    damage: (path) => filesIn(path, '.parquet').forEach((file) => rmSync(file)),
  },
  {
    name: 'a data file cut short',
    code: 'DELTA_DATA_FILE_CORRUPT',
    says: /parquet/,
    damage: (path) =>
      filesIn(path, '.parquet').forEach((file) => writeFileSync(file, readFileSync(file).subarray(0, 100))),
  },
  {
    name: 'a data file of other bytes',
    code: 'DELTA_DATA_FILE_CORRUPT',
    says: /parquet/,
    damage: (path) => filesIn(path, '.parquet').forEach((file) => writeFileSync(file, Buffer.alloc(2000, 7))),
  },
]

test.each(damages.map((one) => [one.name, one.code, one] as const))(
  '%s -> %s for readers and writers, and nothing is written',
  async (_name, code, one) => {
    const made = await newTable()
    await one.prepare?.(made)
    one.damage(made.path)
    const before = picture(made.path)
    const open = () => DeltaTable.open(made.path, { plane })
    const read = async () => rowsOf(await open())
    if (one.writesOnly === true) expect(await read()).toHaveLength(3)
    else checkForm(await errorOf(read), code, one.says)
    const writes = [
      async () => (await open()).delete("name <> 'zzz' AND small * 2 <> 77"),
      async () => (await open()).update({ name: "'u'" }, { where: 'id % 5 <> 4' }),
    ]
    for (const write of writes) checkForm(await errorOf(write), code, one.says)
    expect(picture(made.path)).toEqual(before)
  },
)
