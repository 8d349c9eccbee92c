"""A worker that answers one JSON line for each JSON line it is asked, until its input ends."""

import json
import sys
import traceback


def serve(operations):
    """operations: name -> function of the request's other members; its return value becomes `value` of the answer."""
    out = sys.stdout
    sys.stdout = sys.stderr
    for line in sys.stdin:
        request = json.loads(line)
        number, name = request.pop("id"), request.pop("op")
        try:
            answer = {"id": number, "value": operations[name](**request)}
        except Exception as error:  # The asker decides what a failure means.
            traceback.print_exc()
            answer = {"id": number, "error": f"{type(error).__name__}: {error}"[:4000]}
        out.write(json.dumps(answer, ensure_ascii=False) + "\n")
        out.flush()
