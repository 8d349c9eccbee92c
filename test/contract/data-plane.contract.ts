/** The one contract suite that every data plane passes. A plane that cannot is a plane the engine cannot use. */
import { afterAll, beforeAll, describe } from 'vitest'
import { must } from '../../src/base/assert.ts'
import type { DataPlane } from '../../src/relation/data-plane.ts'
import { aggregateContract } from './plane-aggregates.ts'
import { failureContract } from './plane-failures.ts'
import { fileContract } from './plane-files.ts'
import { foundValueContract } from './plane-found-values.ts'
import { joinContract } from './plane-joins.ts'
import { mappingContract } from './plane-mapping.ts'
import { partitionContract } from './plane-partitions.ts'
import { relationContract } from './plane-relations.ts'
import { stagingContract } from './plane-staging.ts'
import { statisticsContract } from './plane-statistics.ts'
import type { PlaneHarness } from './plane-tools.ts'
import { valueContract } from './plane-values.ts'
import { windowContract } from './plane-windows.ts'

export function dataPlaneContract(harness: PlaneHarness): void {
  describe(`data plane: ${harness.name}`, () => {
    let opened: DataPlane | undefined
    const plane = () => must(opened, 'the plane is open')
    beforeAll(async () => {
      opened = await harness.open()
    })
    afterAll(async () => {
      await opened?.close()
    })
    describe('relations', () => relationContract(plane))
    describe('joins', () => joinContract(plane))
    describe('found values', () => foundValueContract(harness, plane))
    describe('aggregates', () => aggregateContract(plane))
    describe('windows', () => windowContract(harness, plane))
    describe('values', () => valueContract(harness, plane))
    describe('staging', () => stagingContract(plane))
    describe('files', () => fileContract(harness, plane))
    describe('partitions', () => partitionContract(harness, plane))
    describe('schemas', () => mappingContract(harness, plane))
    describe('statistics', () => statisticsContract(harness, plane))
    describe('failures', () => failureContract(harness, plane))
  })
}
