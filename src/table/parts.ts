/** The parts a table works with, and how they are put together from ports. */
import { openLog } from '../log/table-log.ts'
import type { Environment } from '../ports/environment.ts'
import type { ObjectStore } from '../ports/object-store.ts'
import type { ParquetReader } from '../ports/parquet-reader.ts'
import type { CheckpointWriter } from '../ports/checkpoint-writer.ts'
import { type Telemetry, silentTelemetry } from '../ports/telemetry.ts'
import { deletionVectorCache } from '../log/deletion-vectors.ts'
import type { DataPlane } from '../relation/data-plane.ts'
import { Background } from '../transaction/background.ts'
import type { CheckpointTiming, TableParts } from '../transaction/context.ts'

export interface Ports {
  readonly store: ObjectStore
  readonly parquet: ParquetReader
  readonly checkpoints: CheckpointWriter
  readonly environment: Environment
  readonly telemetry?: Telemetry | undefined
  /** Called at the first use of data; log reading needs none. */
  readonly plane: () => Promise<DataPlane>
  /** Default: wait. */
  readonly checkpointTiming?: CheckpointTiming | undefined
}

export function tableParts(ports: Ports): TableParts {
  const { store, parquet, checkpoints, environment, plane } = ports
  const telemetry = ports.telemetry ?? silentTelemetry
  return {
    log: openLog({ store, parquet, checkpoints, environment, telemetry }),
    plane,
    environment,
    telemetry,
    vectors: deletionVectorCache(),
    background: new Background(),
    checkpoints: ports.checkpointTiming ?? 'wait',
  }
}
