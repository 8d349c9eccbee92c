/**
 * Gating by the protocol action. Invariant: a table is read only when every reader feature is known here, and written only when every
 * feature of both lists is; properties never open the gate. Source: PROTOCOL.md, "Protocol Evolution" and "Table Features".
 */
import { assert } from '../base/assert.ts'
import { failure } from '../base/errors.ts'
import type { Protocol } from './actions.ts'
import { featureUses } from './feature-uses.ts'
import type { Feature } from './feature-register.ts'
import { canonicalFeatureName, featureByName, legacyFeatures } from './feature-register.ts'
import { unknownTypeChanges } from './type-widening.ts'
import type { StructType } from './types.ts'

const maxReaderVersion = 3
const maxWriterVersion = 7

/** Tables of these numbers and later list their features by name. */
const readerFeaturesVersion = 3
const writerFeaturesVersion = 7

/**
 * Passes when this engine can read tables of the protocol; with the schema given, also that every recorded change of a column's type is known.
 * @throws DELTA_UNSUPPORTED_FEATURES_FOR_READ naming everything that is missing.
 */
export function requireReadable(protocol: Protocol, schema?: StructType): void {
  const { minReaderVersion } = protocol
  const listed = protocol.readerFeatures ?? []
  const missing = listed.filter((name) => featureByName(name)?.reads !== true)
  const changes = schema === undefined || !hasTypeWidening(protocol) ? [] : unknownTypeChanges(schema)
  if (minReaderVersion <= maxReaderVersion && missing.length === 0 && changes.length === 0) return
  const reasons = [
    ...(minReaderVersion > maxReaderVersion
      ? [`reader version ${minReaderVersion} (${maxReaderVersion} is the newest known)`]
      : []),
    ...(missing.length > 0 ? [`the features ${missing.join(', ')}`] : []),
    ...changes.map((change) => `the type change ${change}`),
  ]
  throw failure(
    'DELTA_UNSUPPORTED_FEATURES_FOR_READ',
    `The table cannot be read: it needs ${reasons.join(' and ')}. Read it with an engine that has them.`,
    { details: { features: missing, typeChanges: changes, minReaderVersion } },
  )
}

/**
 * Passes when this engine can write tables of the protocol. A feature that asks something of writers only when it is used (constraints,
 * change feed, generated and identity columns, defaults) is refused only when the schema or the configuration uses it. Expressions of
 * invariants are not looked at here: see columnInvariants.
 * @throws DELTA_UNSUPPORTED_FEATURES_FOR_READ, DELTA_UNSUPPORTED_FEATURES_FOR_WRITE naming everything that is missing.
 */
export function requireWritable(
  protocol: Protocol,
  schema: StructType,
  configuration: Readonly<Record<string, string>>,
): void {
  requireReadable(protocol, schema)
  const { minWriterVersion } = protocol
  const uses = featureUses(schema, configuration)
  // Comparing a collated column by its bytes would be wrong whether or not the protocol says that there is one.
  const collations = uses.has('collations') ? ['collations'] : []
  const missing = [...new Set([...featureNames(protocol), ...collations])].filter((name) => {
    const writes = featureByName(name)?.writes ?? 'no'
    return writes === 'no' || (writes === 'unused' && uses.has(name))
  })
  if (minWriterVersion <= maxWriterVersion && missing.length === 0) return
  const reasons = [
    ...(minWriterVersion > maxWriterVersion
      ? [`writer version ${minWriterVersion} (${maxWriterVersion} is the newest known)`]
      : []),
    ...(missing.length > 0 ? [`the features ${missing.map((name) => withUse(name, uses.get(name))).join(', ')}`] : []),
  ]
  throw failure(
    'DELTA_UNSUPPORTED_FEATURES_FOR_WRITE',
    `The table cannot be written: it needs ${reasons.join(' and ')}. Nothing was written. Write it with an engine that has them.`,
    { details: { features: missing, minWriterVersion } },
  )
}

function withUse(name: string, use: string | undefined): string {
  return use === undefined ? name : `${name} (${use})`
}

function hasTypeWidening(protocol: Protocol): boolean {
  return isSupported(protocol, 'typeWidening') || isSupported(protocol, 'typeWidening-preview')
}

/** Every feature of the protocol, listed or implied by old numbers; canonical names, in order of first mention. */
export function featureNames(protocol: Protocol): string[] {
  const { minReaderVersion, minWriterVersion, readerFeatures = [], writerFeatures = [] } = protocol
  const implied = minWriterVersion < writerFeaturesVersion ? legacyFeatures(minReaderVersion, minWriterVersion) : []
  const names = [...implied.map(({ name }) => name), ...writerFeatures, ...readerFeatures]
  return [...new Set(names.map(canonicalFeatureName))]
}

/**
 * Whether the protocol has the feature, so that what it marks must be honoured. What readers must know is decided by the reader's side.
 * Whether new writes use it is another matter, for table properties to say.
 */
export function isSupported(protocol: Protocol, name: string): boolean {
  const feature = featureByName(name)
  const isNamed = (listed: string): boolean => canonicalFeatureName(listed) === canonicalFeatureName(name)
  const forReaders = feature?.forReaders ?? false
  if (forReaders) {
    if (protocol.minReaderVersion >= readerFeaturesVersion) return protocol.readerFeatures?.some(isNamed) ?? false
    return feature?.legacy !== undefined && feature.legacy.reader <= protocol.minReaderVersion
  }
  if (protocol.minWriterVersion >= writerFeaturesVersion) return protocol.writerFeatures?.some(isNamed) ?? false
  return feature?.legacy !== undefined && feature.legacy.writer <= protocol.minWriterVersion
}

/** The lowest protocol, from reader 1 and writer 2 on, that has all the features. Feature lists hold just these, in the order given. */
export function newProtocol(names: readonly string[]): Protocol {
  const wanted = names.map(known)
  if (wanted.every(({ legacy }) => legacy !== undefined))
    return legacyProtocol({ minReaderVersion: 1, minWriterVersion: 2 }, wanted)
  return listedProtocol(1, wanted)
}

/**
 * The protocol raised to have the features too; the same one when it has them. Where the numbers give way to lists, the lists name all
 * that the old numbers implied, since a table may use it.
 */
export function withFeatures(protocol: Protocol, names: readonly string[]): Protocol {
  const added = names.filter((name) => !isSupported(protocol, name)).map(known)
  if (added.length === 0) return protocol
  const isLegacy = protocol.minWriterVersion < writerFeaturesVersion
  if (isLegacy && added.every(({ legacy }) => legacy !== undefined)) return legacyProtocol(protocol, added)
  const present = featureNames(protocol)
  const addedNames = added.map(({ name }) => name).filter((name) => !present.includes(name))
  return listedProtocol(protocol.minReaderVersion, [...present, ...addedNames].map(known))
}

/** Callers pass requireWritable first, which refuses every name that is not registered. */
function known(name: string): Feature {
  const feature = featureByName(name)
  assert(feature !== undefined, () => `feature ${name} is not registered`)
  return feature
}

function legacyProtocol(from: Protocol, added: readonly Feature[]): Protocol {
  return {
    minReaderVersion: Math.max(from.minReaderVersion, ...added.map(({ legacy }) => legacy?.reader ?? 1)),
    minWriterVersion: Math.max(from.minWriterVersion, ...added.map(({ legacy }) => legacy?.writer ?? 1)),
  }
}

/** Writers always list; readers list when some feature has no old reader number. */
function listedProtocol(minReaderVersion: number, features: readonly Feature[]): Protocol {
  const forReaders = features.filter((feature) => feature.forReaders)
  const writerFeatures = features.map(({ name }) => name)
  const isReaderLegacy =
    forReaders.every(({ legacy }) => legacy !== undefined) && minReaderVersion < readerFeaturesVersion
  if (isReaderLegacy) {
    const reader = Math.max(minReaderVersion, ...forReaders.map(({ legacy }) => legacy?.reader ?? 1))
    return { minReaderVersion: reader, minWriterVersion: writerFeaturesVersion, writerFeatures }
  }
  return {
    minReaderVersion: readerFeaturesVersion,
    minWriterVersion: writerFeaturesVersion,
    readerFeatures: forReaders.map(({ name }) => name),
    writerFeatures,
  }
}
