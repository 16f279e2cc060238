"""`pulsarctl bookies`: the storage servers of a cluster, and their racks."""

from pulsarctl.requests.installing import install_requests
from pulsarctl.requests.request import Field, In, Request, Shown
from pulsarctl.shell.grammar import Noun

app = Noun("bookies", "List bookies, and manage their racks.")

BOOKIE = Field("bookie", "Address of the bookie, as HOST:PORT.", ("-b", "--bookie"), "BOOKIE")
RACKS = "bookies/racks-info"

install_requests(
    app,
    (
        Request("list-bookies", "GET", "bookies/all", "List the bookies of a cluster.", "", (), Shown.VALUE),
        Request("racks-placement", "GET", RACKS, "Show the racks of all bookies.", "", (), Shown.VALUE),
        Request(
            "get-bookie-rack",
            "GET",
            f"{RACKS}/{{bookie}}",
            "Show the rack of a bookie.",
            "-b bookie1:3181",
            (BOOKIE,),
            Shown.VALUE,
        ),
        Request(
            "set-bookie-rack",
            "POST",
            f"{RACKS}/{{bookie}}",
            "Set the rack of a bookie.",
            "-b bookie1:3181 -r /rack1",
            (
                BOOKIE,
                Field("rack", "Name of the rack.", ("-r", "--rack"), "RACK", In.BODY),
                Field("group", "Group of the bookie.", ("-g", "--group"), "GROUP", In.QUERY, default="default"),
                Field(
                    "host",
                    "Host name of the bookie.",
                    ("-hn", "--hostname"),
                    "HOST",
                    In.BODY,
                    default=None,
                    key="hostname",
                ),
            ),
        ),
        Request(
            "delete-bookie-rack",
            "DELETE",
            f"{RACKS}/{{bookie}}",
            "Remove the rack of a bookie.",
            "-b bookie1:3181",
            (BOOKIE,),
            question="Remove the rack of bookie {bookie}?",
        ),
    ),
)
