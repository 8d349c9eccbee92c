import { loadPackage } from '../optional-package.ts'

export interface PostgresPackages {
  readonly pg: Pick<typeof import('pg'), 'Client'>
  readonly replication: typeof import('pg-logical-replication')
}

/** @throws SOURCE_FAILED when one is not installed */
export async function loadPostgres(source: string): Promise<PostgresPackages> {
  const replication = await loadPackage(source, 'pg-logical-replication', '2', () => import('pg-logical-replication'))
  const pg = await loadPackage(source, 'pg', '8', () => import('pg'))
  return { pg: pg.default, replication }
}
