/**
 * What orders the events of a key: the position in the database's log, never a time. Times of the log repeat and go back with clocks, and
 * the outer `ts_ms` is only when the connector saw the event.
 *
 * A sequence is a text of parts of fixed width, so that comparing texts compares positions:
 *
 *   postgresql          lsn : rank
 *   mysql, mariadb      number of the binlog file : pos : rank : row
 *   oracle              scn : rank : rs_id : ssn
 *   sqlserver, db2      commit_lsn : rank : change_lsn : event_serial_no
 *   mongodb             ts_ms : ord : rank
 *
 * The rank is 0 for rows of a snapshot and 1 for changes. A snapshot's rows carry the position at which it was taken, so changes before
 * it are older and a change at the very position is newer. In SQL Server an update of a key is a delete and an insert of one LSN, which
 * only event_serial_no tells apart. Binlog files are compared by number: a server whose log begins anew (RESET, failover) needs a
 * sequence of its own, such as one that puts a counter of failovers first.
 */
import { asRecord } from './debezium-values.ts'

export type Envelope = Readonly<Record<string, unknown>>

/** Undefined: the connector is not known, or the envelope lacks the position. */
export function sequenceOf(envelope: Envelope): string | undefined {
  const source = asRecord(envelope['source'])
  if (source === undefined) return undefined
  const rank = isSnapshot(envelope, source) ? '0' : '1'
  const parts = partsOf(source, rank)
  return parts?.every((part) => part !== undefined) === true ? parts.join(':') : undefined
}

function partsOf(source: Envelope, rank: string): readonly (string | undefined)[] | undefined {
  switch (source['connector']) {
    case 'postgresql':
      return [digits(source['lsn']), rank]
    case 'mysql':
    case 'mariadb':
      return [digits(fileNumber(source['file'])), digits(source['pos']), rank, digits(source['row'] ?? 0)]
    case 'oracle':
      return [digits(source['scn']), rank, text(source['rs_id'], ''), digits(source['ssn'] ?? 0)]
    case 'sqlserver':
    case 'db2':
      return [
        text(source['commit_lsn']),
        rank,
        // A snapshot has no change of its own, and comes first anyway.
        text(source['change_lsn'], rank === '0' ? '' : undefined),
        digits(source['event_serial_no'] ?? 0),
      ]
    case 'mongodb':
      return [digits(source['ts_ms']), digits(source['ord'] ?? 0), rank]
    default:
      return undefined
  }
}

function isSnapshot(envelope: Envelope, source: Envelope): boolean {
  const flag = source['snapshot']
  return envelope['op'] === 'r' || !(flag === undefined || flag === null || flag === false || flag === 'false')
}

/** As wide as 64 bits without a sign need. */
function digits(value: unknown): string | undefined {
  const plain = typeof value === 'number' || typeof value === 'bigint' ? String(value) : value
  return typeof plain === 'string' && /^\d+$/.test(plain) ? plain.padStart(20, '0') : undefined
}

function fileNumber(file: unknown): string | undefined {
  return typeof file === 'string' ? /\d+$/.exec(file)?.[0] : undefined
}

function text(value: unknown, missing?: string): string | undefined {
  return typeof value === 'string' && value.trim() !== '' ? value.trim().toLowerCase() : missing
}
