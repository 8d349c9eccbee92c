/** Error classes of AUTO CDC, under the names that Spark's documentation gives them where it has one. */
const invalid = (cause: string, cure: string) => ({ kind: 'invalid', retry: 'never', cause, cure }) as const

export const cdcErrorClasses = {
  AUTOCDC_EMPTY_KEYS: invalid('A flow names no key column.', 'Name the columns that identify a row: keys.'),
  AUTOCDC_MISSING_SEQUENCE_BY: invalid(
    'A flow does not say what orders the events of a key.',
    'Name a column, or several: sequenceBy.',
  ),
  AUTOCDC_BOTH_COLUMN_LIST_AND_EXCEPT_COLUMN_LIST: invalid(
    'A list of columns and a list of exceptions exclude each other.',
    'Give one of the two.',
  ),
  AUTOCDC_IGNORE_NULL_EMPTY_COLUMN_LIST: invalid(
    'ignoreNullUpdates lists no column.',
    'List the columns, or give true for all.',
  ),
  AUTOCDC_CONFLICTING_IGNORE_NULL_UPDATES_OPTIONS: invalid(
    'Two options say which columns an event writes.',
    'Keep one of ignoreNullUpdates and columnsToUpdate.',
  ),
  AUTOCDC_COLUMNS_NOT_FOUND_IN_SCHEMA: invalid(
    'The flow names columns that its source does not have.',
    'Correct the names; `details` holds the missing ones and the columns that are there.',
  ),
  AUTOCDC_KEY_NOT_IN_SELECTED_SCHEMA: invalid('The selection of columns leaves a key out.', 'Select all key columns.'),
  AUTOCDC_RESERVED_COLUMN_NAME_CONFLICT: invalid(
    'The source has a column whose name the target needs for itself.',
    'Rename it in the source, or choose other interval and metadata columns.',
  ),
  AUTOCDC_INVALID_DEFINITION: invalid(
    'An option of a flow is missing, misspelt or not allowed, or options do not fit together.',
    'Correct what `details.option` names; the message says what it may be.',
  ),
  AUTOCDC_INVALID_STATE: invalid(
    'The flow, its target and its state do not belong together: the keys, the type, the sequence, the tracked columns or the type of a column differ from those the state was made with, or the state is missing or of another target.',
    '`details.reason` says what differs: keep the old definition, use `cdc retrack`, `cdc adopt` or `cdc repair`, or start a new target.',
  ),
  AUTOCDC_MICROBATCH_VALIDATION: invalid(
    'Events have NULL keys, NULL sequences, or a sequence that has no order; nothing was committed.',
    'Correct the source, or let the flow set bad rows aside: onBadRow quarantine.',
  ),
  AUTOCDC_SEQUENCE_CONFLICT: invalid(
    'Events of one key differ but have the same sequence, and the flow asks for an error then.',
    'Sequence by more columns, or use onSequenceConflict deterministic or quarantine.',
  ),
  AUTOCDC_MALFORMED_ROW: {
    kind: 'corrupt',
    retry: 'never',
    cause:
      'A row of the target or of the state has a start, end and record start that no event gives: it was changed by other means.',
    cure: 'Run `cdc repair`.',
  },
  AUTOCDC_TARGET_CHANGED: invalid(
    'Rows of the target were changed by something other than AUTO CDC.',
    'Run `cdc repair`, which makes the target anew from its events; change the rows in the source instead.',
  ),
  AUTOCDC_FOREIGN_TARGET: {
    kind: 'unsupported',
    retry: 'never',
    cause: 'The target belongs to the AUTO CDC of another engine.',
    cure: 'Give the flow a target of its own.',
  },
  AUTOCDC_SNAPSHOT_REFUSED: invalid(
    'A snapshot is empty, deletes more than is allowed, repeats a key, or is not newer than the last.',
    'Load the snapshot again. If it is right, raise `maxDeleteFraction`, set `allowEmpty`, or give a newer version.',
  ),
} as const
