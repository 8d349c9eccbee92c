/** Values that the types of the package do not admit, or that no type can tell: callers without types pass them all the same. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Case } from './bad-statements.ts'
import { good, on, root } from './ground.ts'

export const argumentCases: readonly Case[] = [
  {
    name: 'a row with two spellings of a column',
    code: 'DELTA_SCHEMA_MISMATCH',
    says: /`Name` and `name` differ|`name` and `Name`/,
    run: (t) => t.append([good, { id: 8, name: 'x', Name: 'y' }]),
  },
  {
    name: 'a row that becomes a text',
    code: 'DELTA_TYPE_MISMATCH',
    says: /row 1/,
    run: (t) => t.append([new Date() as never]),
  },
  ...(
    [
      ['a text', 'id,name', /string/],
      ['nothing', undefined, /undefined/],
      ['null', null, /null/],
      ['a number', 7, /number/],
      ['one row', { id: 9, name: 'x' }, /array/],
      ['a promise of rows', Promise.resolve([good]), /await/],
      ['a query that is no text', { query: 7 }, /none of the forms/],
    ] as const
  ).flatMap(([name, source, says]): Case[] => {
    const refused = { code: 'INVALID_OPTION', says, details: { option: 'source' } } as const
    return [
      { ...refused, name: `a source that is ${name}, append`, run: (t) => t.append(source as never) },
      { ...refused, name: `a source that is ${name}, overwrite`, run: (t) => t.overwrite(source as never) },
      {
        ...refused,
        name: `a source that is ${name}, merge`,
        run: (t) =>
          t
            .merge(source as never, on)
            .whenMatched()
            .delete()
            .execute(),
      },
    ]
  }),
  {
    name: 'a condition that is no text',
    code: 'EXPRESSION_SYNTAX',
    says: /string, not number/,
    run: (t) => t.delete(1 as never),
  },
  {
    name: 'a set expression that is no text',
    code: 'EXPRESSION_SYNTAX',
    says: /string, not number/,
    run: (t) => t.update({ small: 1 as never }),
  },
  {
    name: 'a merge without a condition',
    code: 'INVALID_OPTION',
    says: /options of merge .*lacks on/,
    run: async (t) =>
      t
        .merge([good], {} as never)
        .whenMatched()
        .delete()
        .execute(),
  },
  ...(
    [
      ['version', { appId: 'a', version: 1.5 }, /whole number/],
      ['version', { appId: 'a', version: 2n ** 63n }, /64-bit/],
      ['version', { appId: 'a', version: '1' }, /whole number/],
      ['version', { appId: 'a' }, /whole number/],
      ['appId', { version: 1 }, /not undefined/],
      ['appId', { appId: '', version: 1 }, /not empty/],
      ['appId', { appId: 7, version: 1 }, /not 7/],
    ] as const
  ).map(([part, application, says]): Case => ({
    name: `an application ${part} that is none: ${Object.values(application).join(' ')}`,
    code: 'INVALID_OPTION',
    says,
    details: { option: `application.${part}` },
    run: (t) => t.append([good], { application: application as never }),
  })),
  ...(
    [
      ['valueBudgetBytes', { valueBudgetBytes: Number.NaN }, /at least 0, not NaN/],
      ['valueBudgetBytes', { valueBudgetBytes: '1MB' }, /at least 0, not 1MB/],
      ['mergeKeyInSetThreshold', { mergeKeyInSetThreshold: -1 }, /at least 0, not -1/],
      ['reconcile.values', { reconcile: { values: 'no' } }, /true or false/],
      ['reconcile.value', { reconcile: { value: false } }, /statistics, values/],
      ['signal', { signal: 5 }, /AbortSignal/],
      ['application.appId', { application: null }, /must be given/],
    ] as const
  ).map(([option, options, says]): Case => ({
    name: `an option that is none: ${JSON.stringify(options)}`,
    code: 'INVALID_OPTION',
    says,
    details: { option },
    run: (t) => t.delete('id = 1', options as never),
  })),
  ...(
    [
      ['a chain of sums', `id ${'+ 1 '.repeat(4_000)} > 0`],
      ['a chain of NOTs', `${'NOT '.repeat(4_000)} id = 1`],
      ['brackets', `${'('.repeat(4_000)}id = 1${')'.repeat(4_000)}`],
      ['a subquery', `EXISTS (SELECT 1 FROM t AS u WHERE u.id ${'+ 1 '.repeat(4_000)} > 0)`],
    ] as const
  ).map(([name, where]): Case => ({
    name: `an expression nested too deeply, ${name}`,
    code: 'EXPRESSION_SYNTAX',
    says: /nested too deeply/,
    run: (t) => t.delete(where),
  })),
  {
    name: 'a version that is no whole number',
    code: 'INVALID_OPTION',
    says: /whole number/,
    run: async (t) => t.rows({ version: 0.5 }).next(),
  },
  {
    name: 'an instant that is none',
    code: 'INVALID_OPTION',
    says: /valid Date/,
    run: async (t) => t.query('SELECT 1', { asOf: new Date(Number.NaN) }),
  },
  {
    name: 'an instant that is a text',
    code: 'INVALID_OPTION',
    says: /valid Date/,
    run: async (t) => t.detail({ asOf: '2024-01-01' as never }),
  },
  {
    name: 'a version and an instant',
    code: 'INVALID_OPTION',
    says: /one of them/,
    run: async (t) => t.rows({ version: 0, asOf: new Date() }).next(),
  },
  ...(
    [
      ['csv', 'id,name\nmany,x\n', /many/],
      ['json', '{"id": 9}\n{"id": ', /JSON/],
      ['json', '{"id": 9, "small": 99999999999}\n', /99999999999/],
    ] as const
  ).map(([format, text, says]): Case => ({
    name: `a source file that does not read, ${format} ${JSON.stringify(text)}`,
    code: 'SOURCE_FAILED',
    says,
    run: (t) => {
      const path = join(root, `source-${crypto.randomUUID()}.${format}`)
      writeFileSync(path, text)
      return t.append(format === 'csv' ? { csv: path } : { json: path })
    },
  })),
]
