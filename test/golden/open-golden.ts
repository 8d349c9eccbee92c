import { join } from 'node:path'
import { localStore } from '../../src/adapters/local-store/local-store.ts'
import { hyparquetReader } from '../../src/adapters/parquet/hyparquet-reader.ts'
import { systemEnvironment } from '../../src/adapters/system-environment.ts'
import { openLog } from '../../src/log/table-log.ts'
import type { TableLog } from '../../src/log/table-log.ts'
import type { Telemetry } from '../../src/ports/telemetry.ts'
import { goldenRoot } from './golden-root.ts'

/** The folder, for tests that must not be skipped. */
export function requiredGoldenRoot(): string {
  const root = goldenRoot()
  if (root === undefined) throw new Error('the golden tables are missing: set BRAIDLAKE_GOLDEN to their folder')
  return root
}

/** A checkpoint that is passed over for the commits would hide what its reader cannot do. */
const strict: Telemetry = {
  event() {},
  log(level, message) {
    if (level === 'warn' || level === 'error') throw new Error(message)
  },
}

/** The log of a golden table, read-only by the user's discipline. */
export function goldenLog(table: string): TableLog {
  const store = localStore(join(requiredGoldenRoot(), table))
  return openLog({ store, parquet: hyparquetReader(), environment: systemEnvironment(), telemetry: strict })
}
