/** A row of the target by its place: number of its file within the transaction, and 0-based position there. */
export interface TargetRow {
  readonly file: number
  readonly position: number
}
