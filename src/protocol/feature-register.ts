/**
 * Every table feature known by name, and what this engine does with it. Source: PROTOCOL.md, "Valid Feature Names in Table Features".
 * A name that is not here is refused like one that is not supported.
 */

export interface Feature {
  readonly name: string
  /** Readers need it too, not only writers. */
  readonly forReaders: boolean
  /** The old version numbers that imply the feature, where there are any. */
  readonly legacy?: { readonly reader: number; readonly writer: number }
  /** Tables with it can be read. Always true where readers need not know it. */
  readonly reads: boolean
  /** `unused`: tables with it can be written as long as they make no use of it. */
  readonly writes: 'yes' | 'no' | 'unused'
}

const writer = (name: string, writes: Feature['writes'], legacyWriter?: number): Feature => ({
  name,
  forReaders: false,
  ...(legacyWriter === undefined ? {} : { legacy: { reader: 1, writer: legacyWriter } }),
  reads: true,
  writes,
})

const both = (name: string, reads: boolean, writes: Feature['writes']): Feature => ({
  name,
  forReaders: true,
  reads,
  writes,
})

const features: readonly Feature[] = [
  writer('appendOnly', 'yes', 2),
  writer('invariants', 'yes', 2),
  writer('checkConstraints', 'unused', 3),
  writer('changeDataFeed', 'unused', 4),
  writer('generatedColumns', 'unused', 4),
  { ...both('columnMapping', true, 'yes'), legacy: { reader: 2, writer: 5 } },
  writer('identityColumns', 'unused', 6),
  writer('allowColumnDefaults', 'unused'),
  writer('domainMetadata', 'yes'),
  both('deletionVectors', true, 'yes'),
  both('timestampNtz', true, 'yes'),
  both('v2Checkpoint', true, 'yes'),
  both('vacuumProtocolCheck', true, 'yes'),
  both('typeWidening', true, 'no'),
  both('typeWidening-preview', true, 'no'),
  both('variantType', false, 'no'),
  both('variantType-preview', false, 'no'),
  both('variantShredding', false, 'no'),
  both('variantShredding-preview', false, 'no'),
  both('catalogManaged', false, 'no'),
  both('catalogOwned-preview', false, 'no'),
  writer('rowTracking', 'no'),
  writer('inCommitTimestamp', 'no'),
  writer('clustering', 'no'),
  writer('icebergCompatV1', 'no'),
  writer('icebergCompatV2', 'no'),
  writer('icebergCompatV3', 'no'),
  writer('checkpointProtection', 'no'),
  writer('materializePartitionColumns', 'no'),
  writer('collations', 'no'),
  writer('collations-preview', 'no'),
]

const byName: ReadonlyMap<string, Feature> = new Map(features.map((feature) => [feature.name, feature]))

/** Old tables spell one name otherwise; it is read, and never written. */
export function canonicalFeatureName(name: string): string {
  return name === 'timestampWithoutTimezone' ? 'timestampNtz' : name
}

export function featureByName(name: string): Feature | undefined {
  return byName.get(canonicalFeatureName(name))
}

/** As `featureByName`, in any case: users spell names as they like. */
export function featureByUserSpelling(name: string): Feature | undefined {
  const lower = name.toLowerCase()
  return features.find((feature) => feature.name.toLowerCase() === lower)
}

/** What a pair of old version numbers implies: the features both numbers reach. */
export function legacyFeatures(minReaderVersion: number, minWriterVersion: number): readonly Feature[] {
  return features.filter(
    ({ legacy }) => legacy !== undefined && legacy.reader <= minReaderVersion && legacy.writer <= minWriterVersion,
  )
}
