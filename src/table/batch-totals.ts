/** The counts of a batch, in the order in which they are told. */
export const summed = [
  'inserted',
  'updated',
  'deleted',
  'closed',
  'reopened',
  'promoted',
  'demoted',
  'late',
  'duplicate',
  'conflicting',
  'quarantined',
] as const

export type AutoCdcTotals = Readonly<Record<(typeof summed)[number], number>>
