"""EC2 as it behaves: moto's answers, with refusals, delays, identity of requests and left-overs put right."""
