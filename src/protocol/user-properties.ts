/**
 * Properties that a user sets on a table. Keys outside `delta.` are the user's own; those inside must be known here, hold a value that is
 * valid, and ask nothing that this engine does not do when it writes.
 */
import { failure } from '../base/errors.ts'
import { featureByUserSpelling } from './feature-register.ts'
import { parseBoolean, parseBytes, parseIntervalMs, parseWhole } from './property-values.ts'

interface Rule {
  readonly allowed: string
  readonly accepts: (value: string) => boolean
}

const boolean: Rule = { allowed: 'true or false', accepts: (value) => parseBoolean(value) !== undefined }
const interval: Rule = {
  allowed: "a duration such as 'interval 7 days'",
  accepts: (value) => parseIntervalMs(value) !== undefined,
}
const whole = (least: number): Rule => ({
  allowed: `a whole number of at least ${least}`,
  accepts: (value) => parseWhole(value, least) !== undefined,
})
const oneOf = (...values: readonly string[]): Rule => ({
  allowed: values.join(', '),
  accepts: (value) => values.includes(value.trim().toLowerCase()),
})

const rules: ReadonlyMap<string, Rule> = new Map<string, Rule>([
  ['delta.appendOnly', boolean],
  ['delta.enableDeletionVectors', boolean],
  ['delta.checkpointInterval', whole(1)],
  ['delta.checkpointPolicy', oneOf('classic')],
  ['delta.checkpoint.writeStatsAsJson', boolean],
  ['delta.checkpoint.writeStatsAsStruct', boolean],
  ['delta.dataSkippingNumIndexedCols', whole(-1)],
  [
    'delta.dataSkippingStatsColumns',
    { allowed: 'names of columns between commas', accepts: (value) => value.trim() !== '' },
  ],
  ['delta.deletedFileRetentionDuration', interval],
  ['delta.logRetentionDuration', interval],
  ['delta.setTransactionRetentionDuration', interval],
  ['delta.enableExpiredLogCleanup', boolean],
  ['delta.targetFileSize', { allowed: "a size such as '128mb'", accepts: (value) => parseBytes(value) !== undefined }],
  ['delta.randomizeFilePrefixes', boolean],
  ['delta.randomPrefixLength', whole(1)],
  ['delta.parquet.compression.codec', oneOf('snappy', 'zstd', 'gzip', 'uncompressed', 'none')],
  ['delta.columnMapping.mode', oneOf('none')],
  ['delta.enableChangeDataFeed', oneOf('false')],
  ['delta.enableRowTracking', oneOf('false')],
  ['delta.enableInCommitTimestamps', oneOf('false')],
  ['delta.enableTypeWidening', oneOf('false')],
])

/** Spelling by its lower-case form: users write keys in any case, the log holds one. */
const spelling: ReadonlyMap<string, string> = new Map([...rules.keys()].map((key) => [key.toLowerCase(), key]))

/**
 * The configuration as the log should hold it: known keys in their one spelling, values as given.
 * @throws INVALID_OPTION on an unknown `delta.` key or a value that is not allowed.
 */
export function validateUserProperties(
  configuration: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  const entries: [string, string][] = []
  for (const [given, value] of Object.entries(configuration)) {
    if (!given.toLowerCase().startsWith('delta.')) {
      entries.push([given, value])
      continue
    }
    const key = spelling.get(given.toLowerCase())
    const rule = key === undefined ? undefined : rules.get(key)
    if (key === undefined || rule === undefined) throw unknownKey(given)
    if (!rule.accepts(value)) throw badValue(key, value, rule.allowed)
    entries.push([key, value])
  }
  return Object.fromEntries(entries)
}

const featurePrefix = 'delta.feature.'

export interface NewTableProperties {
  /** Names of the features asked for, as the log spells them. */
  readonly features: readonly string[]
  /** The rest: validateUserProperties takes it. */
  readonly properties: Readonly<Record<string, string>>
}

/**
 * Takes `delta.feature.<name>` = `supported` out of the properties of a new table: it asks for a feature in the protocol, and the log
 * keeps it there and not in the configuration. Source: Delta's documentation of table features.
 * @throws INVALID_OPTION on a feature that is unknown or cannot be written, and on another value.
 */
export function takeFeatureProperties(given: Readonly<Record<string, string>>): NewTableProperties {
  const features: string[] = []
  const properties: [string, string][] = []
  for (const [key, value] of Object.entries(given)) {
    if (key.toLowerCase().startsWith(featurePrefix)) features.push(wantedFeature(key, value))
    else properties.push([key, value])
  }
  return { features: [...new Set(features)], properties: Object.fromEntries(properties) }
}

function wantedFeature(key: string, value: string): string {
  if (value.toLowerCase() !== 'supported') throw badValue(key, value, 'supported')
  const name = key.slice(featurePrefix.length)
  const feature = featureByUserSpelling(name)
  if (feature !== undefined && feature.reads && feature.writes !== 'no') return feature.name
  throw failure(
    'INVALID_OPTION',
    `Table feature '${name}' cannot be asked for: it is not written here. Leave it out.`,
    {
      details: { key, feature: name },
    },
  )
}

function unknownKey(key: string): Error {
  const known = [...rules.keys()]
  const isIsolation = key.toLowerCase() === 'delta.isolationlevel'
  const advice = isIsolation
    ? "Give the option 'isolation' to the handle or the call."
    : `Use one of ${known.join(', ')}.`
  return failure('INVALID_OPTION', `Table property '${key}' cannot be set. ${advice}`, {
    details: { key, known },
    advice,
  })
}

function badValue(key: string, value: string, allowed: string): Error {
  const message = `Table property '${key}' cannot be '${value}'. Set it to ${allowed}.`
  return failure('INVALID_OPTION', message, { details: { key, value, allowed } })
}
