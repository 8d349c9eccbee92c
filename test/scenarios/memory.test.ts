/** Every named scenario on the memory plane. */
import { allScenarios } from './all-scenarios.ts'
import { memoryBed } from './race.ts'
import { describeScenarios } from './scenario.ts'

describeScenarios(memoryBed(), allScenarios)
