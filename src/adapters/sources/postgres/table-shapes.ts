/** What the stream's relation messages leave out, from the catalog: domains, arrays, and keys where the replica identity is the whole row. */
import type { Pgoutput } from 'pg-logical-replication'
import type { TableShape } from './pg-rows.ts'
import type { PgSession } from './pg-session.ts'
import type { CatalogType } from './pg-values.ts'
import { decoderOf } from './pg-values.ts'

/** The first number of types that users make. */
const firstUserType = 16384

export class TableShapes {
  readonly #session: PgSession
  readonly #keys: Readonly<Record<string, readonly string[]>>
  readonly #shapes = new WeakMap<Pgoutput.MessageRelation, TableShape>()
  #types: ReadonlyMap<number, CatalogType> | undefined

  constructor(session: PgSession, keys: Readonly<Record<string, readonly string[]>>) {
    this.#session = session
    this.#keys = keys
  }

  /** The server sends a new message for a table whenever it was altered. */
  async of(relation: Pgoutput.MessageRelation): Promise<TableShape> {
    const known = this.#shapes.get(relation)
    if (known !== undefined) return known
    const types = await this.#typesFor(relation.columns.map(({ typeOid }) => typeOid))
    const name = `${relation.schema}.${relation.name}`
    const shape: TableShape = {
      name,
      decoders: new Map(relation.columns.map((column) => [column.name, decoderOf(column.typeOid, types)])),
      key: relation.replicaIdentity === 'full' ? await this.#keyOf(name, relation.relationOid) : relation.keyColumns,
    }
    this.#shapes.set(relation, shape)
    return shape
  }

  async #keyOf(name: string, oid: number): Promise<readonly string[] | undefined> {
    const key = this.#keys[name] ?? (await this.#session.primaryKey(oid >>> 0))
    return key.length === 0 ? undefined : key
  }

  /** The catalog is asked again for types it did not have. */
  async #typesFor(oids: readonly number[]): Promise<ReadonlyMap<number, CatalogType>> {
    const types = this.#types
    const isKnown = types !== undefined && oids.every((oid) => oid < firstUserType || types.has(oid))
    if (isKnown) return types
    this.#types = await this.#session.types()
    return this.#types
  }
}
