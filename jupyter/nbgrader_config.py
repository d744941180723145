"""Where `make lab` submits to: an nbgrader exchange, by default one of your own in `work/exchange/`.

Added to the course's own `nbgrader_config.py`. For a class on one machine, let GPULAB_EXCHANGE name a folder that
everybody may write to; nbgrader makes its folders world-writable, so think twice on a shared host.
"""

import os
from pathlib import Path

c = get_config()  # noqa: F821 - put there by the loader; traitlets' own get_config means the running application

course = Path(__file__).resolve().parents[1]
exchange = Path(os.environ.get("GPULAB_EXCHANGE") or course / "work" / "exchange")
c.CourseDirectory.course_id = "gpulab"
c.Exchange.root = str(exchange)
c.Exchange.cache = str(course / "work" / "submitted_copies")  # What "Submitted assignments" lists.
c.Exchange.assignment_dir = str(course / "notebooks")
