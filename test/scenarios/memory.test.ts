/** Every named scenario on the memory plane. */
import { caseOne, caseOneValues, holeA, removedSide } from './case-1.ts'
import { caseTwo } from './case-2.ts'
import { fieldReports } from './field-reports.ts'
import { furtherMergeKeys, publishedMergeKeys } from './merge-keys.ts'
import { memoryBed } from './race.ts'
import { describeScenarios } from './scenario.ts'

describeScenarios(memoryBed(), [
  ...caseOne,
  ...caseOneValues,
  ...removedSide,
  ...publishedMergeKeys,
  ...furtherMergeKeys,
  ...caseTwo,
  ...holeA,
  ...fieldReports,
])
