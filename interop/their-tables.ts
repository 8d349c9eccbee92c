/** Tables as Spark leaves them, one of each kind that this engine must read: the statements that make it, and whether we may write to it. */

export interface TheirTable {
  readonly name: string
  /** Statements with `{t}` for the table. Every table has a column `id`. */
  readonly statements: readonly string[]
  /** `yes`: we go on writing; a code: the error that writing is refused with. */
  readonly writes: 'yes' | 'DELTA_UNSUPPORTED_FEATURES_FOR_WRITE'
}

const everyType = `id BIGINT, t_byte TINYINT, t_short SMALLINT, t_int INT, t_float FLOAT, t_double DOUBLE, t_boolean BOOLEAN, t_string STRING,
  t_binary BINARY, t_date DATE, t_timestamp TIMESTAMP, t_ntz TIMESTAMP_NTZ, t_decimal DECIMAL(38,10), t_small DECIMAL(5,0),
  t_array ARRAY<STRUCT<a: BIGINT, b: STRING>>, t_map MAP<STRING, ARRAY<INT>>, t_struct STRUCT<x: INT, y: STRUCT<z: TIMESTAMP, d: DECIMAL(20,3)>>`

const everyRow = `INSERT INTO {t} VALUES
  (9007199254740993, -128, 32767, -2147483648, float('0.1'), double('4.9e-324'), true, 'naïve "q" 😀', X'00FF80', DATE'0001-01-01',
   TIMESTAMP'2024-02-29 12:34:56.789012', TIMESTAMP_NTZ'1969-12-31 23:59:59.999999', -1234567890123456789012345678.0123456789, 99999,
   array(named_struct('a', 9223372036854775807L, 'b', NULL), NULL), map('k', array(1, NULL), 'n', NULL),
   named_struct('x', NULL, 'y', named_struct('z', TIMESTAMP'1900-01-01 00:00:00.000001', 'd', 0.001))),
  (1, 0, 0, 0, float('-0.0'), double('NaN'), false, '', X'', DATE'9999-12-31', TIMESTAMP'9999-12-31 23:59:59.999999',
   TIMESTAMP_NTZ'0001-01-01 00:00:00', 0, -1, array(), map(), named_struct('x', 1, 'y', NULL)),
  (2, NULL, NULL, NULL, float('Infinity'), double('-Infinity'), NULL, NULL, NULL, DATE'1582-10-15', TIMESTAMP'1582-10-15 00:00:00', NULL, NULL, NULL, NULL, NULL, NULL),
  (3, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)`

const numbers = "INSERT INTO {t} SELECT id, concat('v', id) FROM range(0, 200, 1, 2)"
const create = (columns: string, rest = '') => `CREATE TABLE {t} (${columns}) USING delta ${rest}`
const properties = (...pairs: readonly string[]) =>
  `TBLPROPERTIES (${pairs.map((pair) => `'delta.${pair.replace('=', "' = '")}'`).join(', ')})`

export const theirTables: readonly TheirTable[] = [
  { name: 'every type', statements: [create(everyType), everyRow], writes: 'yes' },
  {
    name: 'every type, deletion vectors, columns mapped by name',
    statements: [
      create(everyType, properties('enableDeletionVectors=true', 'columnMapping.mode=name')),
      everyRow,
      'DELETE FROM {t} WHERE id = 1',
      'ALTER TABLE {t} RENAME COLUMN t_string TO `a renamed column`',
      'ALTER TABLE {t} DROP COLUMN t_small',
      'ALTER TABLE {t} ADD COLUMN later DOUBLE',
      'UPDATE {t} SET later = 1.5 WHERE id = 2',
    ],
    writes: 'yes',
  },
  {
    name: 'columns mapped by id',
    statements: [
      create('id BIGINT, v STRING', properties('columnMapping.mode=id')),
      numbers,
      "UPDATE {t} SET v = 'u' WHERE id < 5",
    ],
    writes: 'yes',
  },
  {
    name: 'odd partition values',
    statements: [
      create('id BIGINT, p STRING, d DATE, s TIMESTAMP', 'PARTITIONED BY (p, d, s)'),
      `INSERT INTO {t} VALUES (1, 'a b/ü', DATE'2024-02-29', TIMESTAMP'2024-01-01 00:00:00.000001'), (2, 'x=1%20:', NULL, NULL),
       (3, NULL, DATE'0001-01-01', TIMESTAMP'1969-12-31 23:59:59.5'), (4, ' lead', DATE'9999-12-31', TIMESTAMP'2000-01-01 00:00:00')`,
    ],
    writes: 'yes',
  },
  {
    name: 'deletion vectors of many shapes',
    statements: [
      create('id BIGINT, v STRING', properties('enableDeletionVectors=true')),
      numbers,
      'DELETE FROM {t} WHERE id % 3 = 0',
      'DELETE FROM {t} WHERE id BETWEEN 10 AND 20',
      "MERGE INTO {t} AS t USING (SELECT id * 5 AS id FROM range(50)) AS s ON t.id = s.id WHEN MATCHED AND t.id % 2 = 0 THEN DELETE WHEN MATCHED THEN UPDATE SET v = 'm' WHEN NOT MATCHED THEN INSERT (id, v) VALUES (s.id, NULL)",
    ],
    writes: 'yes',
  },
  {
    name: 'V2 checkpoints',
    statements: [
      create(
        'id BIGINT, v STRING',
        properties('checkpointPolicy=v2', 'checkpointInterval=2', 'enableDeletionVectors=true'),
      ),
      numbers,
      'DELETE FROM {t} WHERE id = 7',
      'DELETE FROM {t} WHERE id = 8',
      'DELETE FROM {t} WHERE id = 9',
    ],
    writes: 'yes',
  },
  {
    name: 'classic checkpoints, overwritten',
    statements: [
      create('id BIGINT, v STRING', properties('checkpointInterval=2')),
      numbers,
      "INSERT OVERWRITE {t} VALUES (1, 'one'), (2, NULL)",
      "INSERT INTO {t} VALUES (3, 'three')",
      "INSERT INTO {t} VALUES (4, 'four')",
    ],
    writes: 'yes',
  },
  { name: 'no rows', statements: [create('id BIGINT, v STRING')], writes: 'yes' },
  {
    name: 'widened types',
    statements: [
      create(
        'id INT, n SMALLINT, f FLOAT, d DECIMAL(6,2), day DATE',
        properties('enableTypeWidening=true', 'feature.timestampNtz=supported'),
      ),
      "INSERT INTO {t} VALUES (1, 32767, float('0.1'), 1234.56, DATE'2024-02-29'), (2, NULL, NULL, NULL, NULL)",
      'ALTER TABLE {t} ALTER COLUMN id TYPE BIGINT',
      'ALTER TABLE {t} ALTER COLUMN n TYPE INT',
      'ALTER TABLE {t} ALTER COLUMN f TYPE DOUBLE',
      'ALTER TABLE {t} ALTER COLUMN d TYPE DECIMAL(12,4)',
      'ALTER TABLE {t} ALTER COLUMN day TYPE TIMESTAMP_NTZ',
      "INSERT INTO {t} VALUES (9007199254740993, 70000, 0.1, 12345678.1234, TIMESTAMP_NTZ'2024-01-01 00:00:00.000001')",
    ],
    writes: 'DELTA_UNSUPPORTED_FEATURES_FOR_WRITE',
  },
  {
    name: 'clustered, with row tracking and commit timestamps',
    statements: [
      create(
        'id BIGINT, v STRING',
        `CLUSTER BY (id) ${properties('enableRowTracking=true', 'enableInCommitTimestamps=true')}`,
      ),
      numbers,
    ],
    writes: 'DELTA_UNSUPPORTED_FEATURES_FOR_WRITE',
  },
  {
    name: 'a CHECK constraint',
    statements: [create('id BIGINT, v STRING'), numbers, 'ALTER TABLE {t} ADD CONSTRAINT small CHECK (id < 1000)'],
    writes: 'DELTA_UNSUPPORTED_FEATURES_FOR_WRITE',
  },
  {
    name: 'a change data feed',
    statements: [
      create('id BIGINT, v STRING', properties('enableChangeDataFeed=true')),
      numbers,
      'DELETE FROM {t} WHERE id < 10',
    ],
    writes: 'DELTA_UNSUPPORTED_FEATURES_FOR_WRITE',
  },
  {
    name: 'NOT NULL',
    statements: [create('id BIGINT NOT NULL, v STRING NOT NULL'), numbers],
    writes: 'yes',
  },
]
