/** `braidlake/postgres`: its types need the package pg-logical-replication, so it is an entry of its own. */
export { type PostgresSourceOptions, postgresSource } from './adapters/sources/postgres/postgres-source.ts'
