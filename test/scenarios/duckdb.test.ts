/** The stated sample on DuckDB and local storage: all of C2, MK-1 to MK-10, the field reports. */
import { caseTwo } from './case-2.ts'
import { fieldReports } from './field-reports.ts'
import { publishedMergeKeys } from './merge-keys.ts'
import { duckdbBed } from './race.ts'
import { describeScenarios } from './scenario.ts'

const firstTen = /^MK-([1-9]|10)$/

describeScenarios(duckdbBed(), [
  ...caseTwo,
  ...publishedMergeKeys.filter(({ id }) => firstTen.test(id)),
  ...fieldReports,
])
