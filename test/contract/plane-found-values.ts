/**
 * The contract of finding: a value that a file holds is found by equality, by a list, and by a join, of every type that can be a key, and so
 * inside structs. Values repeat, so that writers lay dictionaries and whatever tells from a footer which values there are.
 */
import { expect, test } from 'vitest'
import type { Datum } from '../../src/protocol/datum.ts'
import type { DataType } from '../../src/protocol/types.ts'
import type { Expr } from '../../src/expr/tree.ts'
import type { DataPlane } from '../../src/relation/data-plane.ts'
import type { Relation } from '../../src/relation/tree.ts'
import type { PlaneHarness } from './plane-tools.ts'
import { call, col, dec, decimal, lit, read, rowsOf, scan, scanColumn, struct, types, write } from './plane-tools.ts'

const bytes = (...values: number[]) => Uint8Array.from(values)

const cases: readonly (readonly [string, DataType, readonly Exclude<Datum, null>[]])[] = [
  ['byte', types.byte, [-128, 0, 127]],
  ['short', types.short, [-32768, -1, 32767]],
  ['integer', types.integer, [-(2 ** 31), 0, 2 ** 31 - 1]],
  ['long', types.long, [-(2n ** 63n), -1n, 2n ** 63n - 1n]],
  ['float', types.float, [-1.5, 0, Number.NaN]],
  ['double', types.double, [0.1, -0, Number.NaN]],
  ['decimal(5,2)', decimal(5, 2), [dec(-1n, 2), dec(99_999n, 2)]],
  ['decimal(18,10)', decimal(18, 10), [dec(-1n, 10), dec(10n ** 18n - 1n, 10)]],
  ['decimal(38,10)', decimal(38, 10), [dec(-1n, 10), dec(10n ** 38n - 1n, 10)]],
  ['string', types.string, ['', 'a', 'a\u0000b', '\\x00', '\uFFFD', '\u{1F600}']],
  ['binary', types.binary, [bytes(), bytes(0), bytes(65), bytes(92), bytes(255), bytes(0, 255, 10)]],
  ['date', types.date, [-719_162, 0, 19_000]],
  ['timestamp', types.timestamp, [-1n, 1_700_000_000_123_456n]],
]

const copies = 200

export function foundValueContract(harness: PlaneHarness, plane: () => DataPlane): void {
  test.each(cases)('%s -> each value of a file is found by =, IN and a join', async (_name, type, values) => {
    const plain = scanColumn('t.v', type, { physicalName: 'v' })
    const inner = scanColumn('t.s', struct({ x: type }), { physicalName: 's' })
    const field: Expr = { kind: 'field', input: col('t.s', inner.type), name: 'x', index: 0, type }
    for (const value of values) {
      const rows = Array.from({ length: copies }, () => [value, [value]])
      const written = await write(harness, plane(), [plain, inner], rows)
      const input = scan({ ...written, columns: [plain, inner] })
      for (const subject of [col('t.v', type), field]) {
        const count = async (relation: Relation) => (await read(plane(), relation)).length
        const list: Expr = {
          kind: 'in',
          input: subject,
          items: [lit(value, type), lit(null, type)],
          type: types.boolean,
        }
        const keys = rowsOf({ k: type }, [[value]])
        const on = call('=', [subject, col('k', type)])
        const found = {
          equal: await count({ kind: 'filter', input, where: call('=', [subject, lit(value, type)]) }),
          listed: await count({ kind: 'filter', input, where: list }),
          joined: await count({ kind: 'join', join: 'inner', left: input, right: keys, on }),
        }
        expect(found).toEqual({ equal: copies, listed: copies, joined: copies })
      }
    }
  })
}
