import { caseOne, caseOneValues, holeA, removedSide } from './case-1.ts'
import { caseTwo } from './case-2.ts'
import { fieldReports } from './field-reports.ts'
import { furtherMergeKeys, publishedMergeKeys } from './merge-keys.ts'

export const allScenarios = [
  ...caseOne,
  ...caseOneValues,
  ...removedSide,
  ...publishedMergeKeys,
  ...furtherMergeKeys,
  ...caseTwo,
  ...holeA,
  ...fieldReports,
]
